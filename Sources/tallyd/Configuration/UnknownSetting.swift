import Foundation

/// A setting that the daemon does not know, probably because of a typing mistake. `tallyd` warns about it.
struct UnknownSetting: Sendable, Hashable, CustomStringConvertible {
    let name: String
    /// The file that contains it; nil: the environment.
    let file: String?
    /// The setting that was probably intended.
    let meant: String?

    /// Does not contain the value, which may be secret.
    var description: String {
        (file.map { "\(name) in \($0)" } ?? name) + (meant.map { " (did you mean \($0)?)" } ?? "")
    }
}

extension UnknownSetting {
    /// Settings of `tally`, `apns-sim` and the project's tools, because one file may serve all programs of a machine.
    private static let namesOfOthers: Set<String> = [
        "TALLY_URL", "TALLY_API_KEY", "TALLY_API_KEY_FILE", "TALLY_APP", "TALLY_PROFILE", "TALLY_CA_FILE",
        "TALLY_CONFIG", "TALLY_REGISTER_KEY", "TALLY_BIN_DIR", "TALLY_BENCHES", "TALLY_SKIP_BUILD",
        "TALLY_JSON_SCHEMA_SUITE",
    ]
    private static let beginningsOfOthers = [
        "TALLY_TEST_", "TALLY_CRASH_", "TALLY_FUZZ_", "TALLY_ORACLE_", "TALLY_SIMULATION_",
    ]

    /// The unknown settings in the environment, sorted by name.
    static func all(inEnvironment variables: [String: String]) -> [UnknownSetting] {
        variables.filter { !isServiceLink($0.key, $0.value) }.keys.sorted()
            .compactMap { UnknownSetting($0, file: nil) }
    }

    /// The unknown settings in the lines `KEY=value` of a file, in the order of the lines.
    static func all(in text: String, of file: String) -> [UnknownSetting] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            guard let end = line.firstIndex(of: "=") else { return nil }
            let name = line.prefix(upTo: end).trimmingCharacters(in: .whitespaces)
            return name.hasPrefix("#") ? nil : UnknownSetting(name, file: file)
        }
    }

    /// Nil if the name is known, or has nothing to do with Tally.
    private init?(_ name: String, file: String?) {
        let keys = DaemonConfiguration.keys.flatMap { [$0.name] + ($0.fileName.map { [$0] } ?? []) }
        guard !keys.contains(name), !Self.namesOfOthers.contains(name),
            !Self.beginningsOfOthers.contains(where: name.hasPrefix)
        else { return nil }
        // The last word, as in `export KEY`, in upper case. Exact names have been compared above.
        let word = (name.split(whereSeparator: \.isWhitespace).last.map(String.init) ?? name).uppercased()
        let isOurs = word.hasPrefix("TALLY_")
        let nearest = keys.map { (name: $0, distance: word.typingDistance(to: $0)) }.min { $0.distance < $1.distance }
        let meant = nearest.flatMap { $0.distance <= (isOurs ? 3 : 2) ? $0.name : nil }
        guard isOurs || meant != nil else { return nil }
        self.init(name: name, file: file, meant: meant)
    }

    /// Whether Kubernetes sets the variable, as it does in every container for a service named `tally` or `tally-…`.
    private static func isServiceLink(_ name: String, _ value: String) -> Bool {
        let schemes = ["tcp://", "udp://", "sctp://"]
        return name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT")
            || name.contains(/_PORT_[0-9]+_(TCP|UDP|SCTP)/) || schemes.contains(where: value.hasPrefix)
    }
}

extension String {
    /// The number of letters to add, remove, replace or swap with their neighbour to get the other text.
    fileprivate func typingDistance(to other: String) -> Int {
        let own = Array(utf8)
        let others = Array(other.utf8)
        var beforeLast: [Int] = []
        var last = Array(0...others.count)
        for row in 1..<(own.count + 1) {
            var next = [row]
            for column in 1..<(others.count + 1) {
                let isSame = own[row - 1] == others[column - 1]
                var least = Swift.min(last[column] + 1, next[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, own[row - 1] == others[column - 2], own[row - 2] == others[column - 1] {
                    least = Swift.min(least, beforeLast[column - 2] + 1)
                }
                next.append(least)
            }
            (beforeLast, last) = (last, next)
        }
        return last[others.count]
    }
}

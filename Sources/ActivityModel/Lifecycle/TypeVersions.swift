/// The versions of an activity type, and which of them a device decodes.
///
/// A version that a newer one understood by the same apps has taken the place of is nobody's any more. What is left are
/// steps: each newer version asks for a newer app.
package struct TypeVersions: Sendable, Hashable {
    /// What of a version matters here.
    package struct Version: Sendable, Hashable {
        /// Counts the versions of the type, from 1.
        package let number: Int
        /// The oldest version of the app that understands it; nil: every one.
        package let minAppVersion: AppVersion?
        /// Whether an operator has given up the phones that decode nothing newer: they hold nothing back any more.
        package let isRetired: Bool

        package init(_ number: Int, minAppVersion: AppVersion? = nil, isRetired: Bool = false) {
            self.number = number
            self.minAppVersion = minAppVersion
            self.isRetired = isRetired
        }
    }

    /// Those that some version of the app decodes, oldest first.
    private let steps: [Version]
    /// The newest version of the type.
    package let newest: Int
    /// Those that content has to satisfy where it is not known who reads it, as on a channel: what some app decodes and
    /// nobody has retired. Oldest first.
    package let current: [Int]
    /// Those that some version of the app decodes, oldest first.
    package let reachable: [Int]

    /// `versions` are all versions of a type in the order of their numbers, at least one.
    package init(_ versions: [Version]) {
        var steps: [Version] = []
        for version in versions.reversed() {
            guard let next = steps.last else {
                steps.append(version)
                continue
            }
            guard let taken = next.minAppVersion else { break }
            if version.minAppVersion.map({ $0 < taken }) ?? true { steps.append(version) }
        }
        self.steps = steps.reversed()
        newest = versions.last?.number ?? 0
        current = self.steps.filter { !$0.isRetired }.map(\.number)
        reachable = self.steps.map(\.number)
    }

    /// Whether it may be withheld from the phones that decode a version what they cannot decode; else it is refused.
    package func isRetired(_ number: Int) -> Bool { steps.contains { $0.number == number && $0.isRetired } }

    /// The rule once one more version has come, the newest then. What is decoded by no app any more is not
    /// ``reachable``.
    package func adding(minAppVersion: AppVersion?) -> TypeVersions {
        TypeVersions(steps + [Version(newest + 1, minAppVersion: minAppVersion)])
    }

    /// The version that an app decodes: the newest that it understands, or the oldest if it is older than all of them.
    /// An app that does not say its version counts as the oldest that is not retired.
    package func version(ofApp appVersion: AppVersion?) -> Int {
        guard let appVersion else { return current.first ?? newest }
        let understood = steps.last { step in step.minAppVersion.map { $0 <= appVersion } ?? true }
        return (understood ?? steps.first)?.number ?? newest
    }
}

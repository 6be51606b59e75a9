import Reactor

/// The addresses that a host's name stands for, each an attempt of its own.
///
/// libpq alone would try them within the time of one attempt, so that a name whose first address swallows packets would
/// never be reached.
package enum HostAddresses {
    /// Finds the addresses of a name, in numbers and in the order in which they are to be tried; none where it has
    /// none. May block.
    package typealias LookUp = @Sendable (_ name: String) -> [String]

    /// Asks the system.
    package static let system: LookUp = { name in
        // Why there is none libpq says, which is left to look the name up itself.
        (try? AddressResolver.addresses(of: name).map(\.host)) ?? []
    }

    /// The name that an attempt has to look up; nil for the directory of a socket, and where the address is given.
    static func name(in attempt: [ConnectionSettings.Parameter]) -> String? {
        guard let host = attempt.last(where: { $0.keyword == "host" })?.value,
            !host.isEmpty, !host.hasPrefix("/"), !host.hasPrefix("@"),
            !attempt.contains(where: { $0.keyword == "hostaddr" && !$0.value.isEmpty })
        else { return nil }
        return host
    }

    /// The attempt once for each address; as it is without any.
    static func spread(
        _ attempt: [ConnectionSettings.Parameter],
        over addresses: [String]
    ) -> [[ConnectionSettings.Parameter]] {
        guard !addresses.isEmpty else { return [attempt] }
        return addresses.map { attempt + [ConnectionSettings.Parameter(keyword: "hostaddr", value: $0)] }
    }
}

import Reactor

/// Splits a connection attempt into one attempt for each address of its host.
///
/// libpq would try all addresses within the time of one attempt. If the first address did not respond, libpq would
/// never reach the others.
package enum HostAddresses {
    /// Finds the numeric addresses of a name, in the order of use; empty if it has none. It may block.
    package typealias LookUp = @Sendable (_ name: String) -> [String]

    /// The system's resolver.
    package static let system: LookUp = { name in
        // On failure the list is empty. Then libpq resolves the name itself and reports the reason.
        (try? AddressResolver.addresses(of: name).map(\.host)) ?? []
    }

    /// The name that an attempt must resolve; `nil` for the directory of a socket, or if the address is given.
    static func name(in attempt: [ConnectionSettings.Parameter]) -> String? {
        guard let host = attempt.last(where: { $0.keyword == "host" })?.value,
            !host.isEmpty, !host.hasPrefix("/"), !host.hasPrefix("@"),
            !attempt.contains(where: { $0.keyword == "hostaddr" && !$0.value.isEmpty })
        else { return nil }
        return host
    }

    /// One attempt for each address; the original attempt if it has no address.
    static func spread(
        _ attempt: [ConnectionSettings.Parameter],
        over addresses: [String]
    ) -> [[ConnectionSettings.Parameter]] {
        guard !addresses.isEmpty else { return [attempt] }
        return addresses.map { attempt + [ConnectionSettings.Parameter(keyword: "hostaddr", value: $0)] }
    }
}

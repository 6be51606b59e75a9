import CLibPQ
import Glibc

/// A connection string, parsed by libpq. It contains the password, which its descriptions omit.
package struct ConnectionSettings: Sendable, CustomStringConvertible, CustomReflectable {
    struct Parameter: Sendable, Hashable {
        let keyword: String
        let value: String
    }

    private var parameters: [Parameter]
    /// Settings from libpq's environment variables that affect the connection attempts, by keyword.
    private let inherited: [String: String]

    /// Parses a `postgres://` URL or `keyword=value` pairs. Missing settings come from libpq's environment variables.
    ///
    /// - `environment`: replaced in tests.
    ///
    /// - Throws: ``LibPQError/Code/malformedConnectionString``. It omits libpq's message, which can quote a password.
    package init(
        parsing text: String,
        environment: (_ variable: String) -> String? = Self.environmentVariable
    ) throws(LibPQError) {
        let variables = [
            "hostaddr": "PGHOSTADDR", "service": "PGSERVICE", "target_session_attrs": "PGTARGETSESSIONATTRS",
        ]
        inherited = variables.compactMapValues(environment).filter { !$0.value.isEmpty }
        guard let options = unsafe PQconninfoParse(text, nil) else {
            throw LibPQError(
                .malformedConnectionString,
                message: "neither a postgres:// URL nor keyword=value pairs that libpq knows"
            )
        }
        defer { unsafe PQconninfoFree(options) }
        parameters = []
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                parameters.append(
                    Parameter(keyword: unsafe String(cString: keyword), value: unsafe String(cString: value))
                )
            }
            unsafe option += 1
        }
    }

    private static func environmentVariable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// Host, port, database and user, if the string contains them.
    package var description: String {
        ["host", "hostaddr", "port", "dbname", "user"]
            .compactMap { keyword in self[keyword].map { "\(keyword)=\($0)" } }
            .joined(separator: " ")
    }

    package var customMirror: Mirror { Mirror(self, children: []) }

    /// The value of a libpq keyword.
    package subscript(keyword: String) -> String? {
        parameters.last { $0.keyword == keyword }?.value
    }

    /// Sets a value unless the string has one.
    package mutating func setDefault(_ keyword: String, _ value: String) {
        guard self[keyword] == nil else { return }
        parameters.append(Parameter(keyword: keyword, value: value))
    }

    /// Sets a value and replaces that of the string.
    package mutating func set(_ keyword: String, _ value: String) {
        parameters.removeAll { $0.keyword == keyword }
        parameters.append(Parameter(keyword: keyword, value: value))
    }

    /// Whether libpq may take the hosts' addresses from its environment or a service file. An address in an attempt
    /// would override them.
    var hasAddressesElsewhere: Bool {
        self["hostaddr"] == nil
            && (inherited["hostaddr"] != nil || self["service"] != nil || inherited["service"] != nil)
    }

    /// The connection attempts: one per host, in order. With `prefer-standby` there are two rounds, as libpq requires.
    ///
    /// libpq could try several hosts itself. But its timeout per host works only in blocking calls, so an unresponsive
    /// host would use up the time of the hosts after it.
    var attempts: [[Parameter]] {
        let perHost = attemptsPerHost
        guard (self["target_session_attrs"] ?? inherited["target_session_attrs"]) == "prefer-standby" else {
            return perHost
        }
        // libpq's two rounds: first a standby on any host, then any server. One host may have several addresses.
        return perHost.map { Self.target("standby", $0) } + perHost.map { Self.target("any", $0) }
    }

    private var attemptsPerHost: [[Parameter]] {
        let hosts = list("host"), addresses = list("hostaddr"), ports = list("port")
        let count = max(hosts.count, addresses.count)
        // Addresses from elsewhere belong to all hosts together. libpq refuses one host with the addresses of two.
        guard count > 1, !hasAddressesElsewhere else { return [parameters] }
        let rest = parameters.filter { !["host", "hostaddr", "port"].contains($0.keyword) }
        return (0..<count).map { index in
            var attempt = rest
            if index < hosts.count { attempt.append(Parameter(keyword: "host", value: hosts[index])) }
            if index < addresses.count { attempt.append(Parameter(keyword: "hostaddr", value: addresses[index])) }
            // One port is for all hosts; otherwise each host has its own.
            if let port = ports.count == 1 ? ports[0] : ports.indices.contains(index) ? ports[index] : nil {
                attempt.append(Parameter(keyword: "port", value: port))
            }
            return attempt
        }
    }

    private static func target(_ value: String, _ parameters: [Parameter]) -> [Parameter] {
        parameters.filter { $0.keyword != "target_session_attrs" }
            + [Parameter(keyword: "target_session_attrs", value: value)]
    }

    private func list(_ keyword: String) -> [String] {
        self[keyword].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
    }
}

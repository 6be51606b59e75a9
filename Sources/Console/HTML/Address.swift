import APITypes

/// An address within the console: a fixed path and percent-encoded query values.
struct Address: Sendable, Hashable {
    private(set) var text: String

    /// Pairs of the query without a value are left out.
    init(_ path: StaticString, _ query: KeyValuePairs<String, String?> = [:]) {
        text = path.description
        add(query)
    }

    /// The same address with further query values.
    func with(_ query: KeyValuePairs<String, String?>) -> Address {
        var address = self
        address.add(query)
        return address
    }

    private mutating func add(_ query: KeyValuePairs<String, String?>) {
        for case (let name, let value?) in query {
            text += text.contains("?") ? "&" : "?"
            text += PercentEncoding.encode(name) + "=" + PercentEncoding.encode(value)
        }
    }

    /// An address that a form or a query brought; nil unless it lies within the console.
    init?(returningTo text: String) {
        let isOurs = text == "/console" || text.hasPrefix("/console/") || text.hasPrefix("/console?")
        let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
        guard isOurs, isPlain else { return nil }
        self.text = text
    }
}

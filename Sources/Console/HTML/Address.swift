/// An address within the console: a fixed path and percent-encoded query values.
struct Address: Sendable, Hashable {
    let text: String

    /// Pairs of the query without a value are left out.
    init(_ path: StaticString, _ query: KeyValuePairs<String, String?> = [:]) {
        var text = path.description
        var separator = "?"
        for case (let name, let value?) in query {
            text += separator + PercentCoding.encode(name) + "=" + PercentCoding.encode(value)
            separator = "&"
        }
        self.text = text
    }

    /// An address that a form or a query brought; nil unless it lies within the console.
    init?(returningTo text: String) {
        let isOurs = text == "/console" || text.hasPrefix("/console/") || text.hasPrefix("/console?")
        let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
        guard isOurs, isPlain else { return nil }
        self.text = text
    }
}

/// The path and query of an API route. Interpolated values are percent-encoded.
package struct APIPath: Sendable, Hashable, ExpressibleByStringInterpolation {
    package private(set) var text: String

    package init(stringLiteral literal: StaticString) { text = literal.description }

    package init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    /// The same path with further query values. Those without a value are left out.
    func with(_ query: KeyValuePairs<String, String?>) -> APIPath {
        var path = self
        for case (let name, let value?) in query {
            path.text += path.text.contains("?") ? "&" : "?"
            path.text += PercentCoding.encode(name) + "=" + PercentCoding.encode(value)
        }
        return path
    }

    /// Collects the literals and the percent-encoded values of one interpolation.
    package struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: StaticString) { text += literal.description }

        package mutating func appendInterpolation(_ value: String) { text += PercentCoding.encode(value) }
    }
}

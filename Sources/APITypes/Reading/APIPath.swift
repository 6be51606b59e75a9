/// The path and query of an API route. Interpolated values are percent-encoded.
package struct APIPath: Sendable, Hashable, ExpressibleByStringInterpolation {
    package private(set) var text: String

    package init(stringLiteral literal: StaticString) { text = literal.description }

    package init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    /// The same path with further query values. Those without a value are left out.
    package func with(_ query: KeyValuePairs<String, String?>) -> APIPath {
        var path = self
        for case (let name, let value?) in query {
            path.text += path.text.contains("?") ? "&" : "?"
            path.text += PercentEncoding.encode(name) + "=" + PercentEncoding.encode(value)
        }
        return path
    }

    /// Collects the literals and the percent-encoded values of one interpolation.
    package struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: StaticString) { text += literal.description }

        package mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            text += PercentEncoding.encode(value.description)
        }
    }
}

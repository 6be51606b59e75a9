/// The path of a call. Everything that is interpolated is percent-encoded as one segment.
struct APIPath: ExpressibleByStringInterpolation {
    let text: String

    init(stringLiteral text: String) { self.text = text }

    init(stringInterpolation path: StringInterpolation) { text = path.text }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity * 2) }

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ segment: some CustomStringConvertible) {
            text += APICall.encoded(segment.description)
        }
    }
}

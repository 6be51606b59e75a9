internal import JSON
internal import SwiftParser
internal import SwiftSyntax

/// A literal in a source.
enum Literal {
    case integer(JSONNumber)
    case floatingPoint(JSONNumber)
    case text(String)
    case boolean(Bool)

    /// `nil` for any other expression, and for a string with an interpolation.
    init?(_ expression: ExprSyntax) {
        if let text = expression.as(StringLiteralExprSyntax.self) {
            guard let value = text.representedLiteralValue else { return nil }
            self = .text(value)
        } else if let flag = expression.as(BooleanLiteralExprSyntax.self) {
            self = .boolean(flag.literal.text == "true")
        } else if let negative = expression.as(PrefixOperatorExprSyntax.self), negative.operator.text == "-" {
            self.init(number: negative.expression, sign: "-")
        } else {
            self.init(number: expression, sign: "")
        }
    }

    private init?(number expression: ExprSyntax, sign: String) {
        if let integer = expression.as(IntegerLiteralExprSyntax.self) {
            guard let digits = Self.decimalDigits(integer.literal.text), let number = JSONNumber(digits: sign + digits)
            else { return nil }
            self = .integer(number)
        } else if let float = expression.as(FloatLiteralExprSyntax.self) {
            // A hexadecimal literal does not follow JSON's grammar, so it becomes `nil`.
            let digits = float.literal.text.filter { $0 != "_" }
            guard let number = JSONNumber(digits: sign + digits) else { return nil }
            self = .floatingPoint(number)
        } else {
            return nil
        }
    }

    private static func decimalDigits(_ text: String) -> String? {
        let digits = text.filter { $0 != "_" }
        let radixes = ["0x": 16, "0o": 8, "0b": 2]
        if let radix = radixes[String(digits.prefix(2))] {
            return UInt64(digits.dropFirst(2), radix: radix).map { String($0) }
        }
        return UInt64(digits).map { String($0) }
    }
}

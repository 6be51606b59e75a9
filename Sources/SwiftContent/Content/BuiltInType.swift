package import JSON

/// The types of the standard library and Foundation whose decoding is known. The importer writes their schemas.
package enum BuiltInType {
    /// The signed integer types with their maximum, then the unsigned ones.
    private static let signed: [String: JSONNumber] = [
        "Int8": 127, "Int16": 32_767, "Int32": 2_147_483_647, "Int64": 9_223_372_036_854_775_807,
        "Int": 9_223_372_036_854_775_807,
    ]
    private static let unsigned: [String: String] = [
        "UInt8": "255", "UInt16": "65535", "UInt32": "4294967295", "UInt64": "18446744073709551615",
        "UInt": "18446744073709551615", "UInt128": "340282366920938463463374607431768211455",
    ]
    private static let synonyms: [String: String] = [
        "Float32": "Float", "Float64": "Double", "TimeInterval": "Double", "CGFloat": "Double",
    ]

    /// The canonical name of a type that has several.
    package static func canonical(_ name: String) -> String { synonyms[name] ?? name }

    /// Whether it is an integer type.
    package static func isInteger(_ name: String) -> Bool {
        signed[name] != nil || unsigned[name] != nil || name == "Int128"
    }

    /// Whether an enum with raw values of this type is decoded from the bare value, not from an object. `CGFloat` is
    /// decoded like `Double` as a property, but the standard library supports only its own types as raw values.
    package static func isRawValue(_ name: String) -> Bool {
        guard name != "CGFloat" else { return false }
        let name = canonical(name)
        return isInteger(name) && !name.hasSuffix("128") || ["String", "Double", "Float", "Bool"].contains(name)
    }

    /// Whether its values are ordered, so that two can bound a range.
    package static func isBound(_ name: String) -> Bool {
        isInteger(name) || ["Double", "Float", "Decimal", "Date", "String"].contains(name)
    }

    /// The schema for values of a type; `nil` for a type without a known decoding.
    package static func schema(of name: String) -> JSONObject? {
        guard var schema = constraints(of: name) else { return nil }
        schema["x-swift-type"] = .string(name)
        return schema
    }

    private static func constraints(of name: String) -> JSONObject? {
        if let range = integerRange(name) {
            return ["type": "integer", "minimum": .number(range.least), "maximum": .number(range.most)]
        }
        switch name {
        case "String": return ["type": "string"]
        case "Bool": return ["type": "boolean"]
        case "Double": return number(below: "1.7976931348623157e308")
        // The digits that Swift prints for the greatest `Float`. A slightly larger number would be rounded to it.
        case "Float": return number(below: "3.4028235e38")
        case "Date", "Decimal": return ["type": "number"]
        case "UUID": return text("^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$")
        case "Data":
            return text("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")
        case "URL": return ["type": "string", "minLength": 1, "pattern": .string(urlPattern)]
        default: return nil
        }
    }

    /// The URL pattern of RFC 3986. It refuses what only newer, lenient systems accept, because older systems refuse it
    /// too.
    private static let urlPattern: String = {
        let escape = "%[0-9A-Fa-f]{2}"
        let user = #"(?:[A-Za-z0-9._~!$&'()*+,;=:\-]|\#(escape))*@"#
        let host = #"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~\-]*)"#
        let authority = "//(?:\(user))?\(host)(?::[0-9]{1,5})?"
        let character = #"(?:[A-Za-z0-9._~!$&'()*+,;=:@\-]|\#(escape))"#
        let firstCharacter = #"(?:[A-Za-z0-9._~!$&'()*+,;=@\-]|\#(escape))"#
        let segments = "(?:/\(character)*)*"
        let scheme = #"[A-Za-z][A-Za-z0-9+.\-]*:"#
        let tail = #"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?\-]|\#(escape))*"#
        return "^(?:(?:\(scheme))?(?:\(authority)\(segments)|/(?:\(character)+\(segments))?)"
            + "|\(scheme)(?:\(character)+\(segments))?|(?:\(firstCharacter)+\(segments))?)"
            + "(?:[?]\(tail))?(?:#\(tail))?$"
    }()

    private static func text(_ pattern: String) -> JSONObject { ["type": "string", "pattern": .string(pattern)] }

    private static func number(below digits: String) -> JSONObject? {
        guard let most = JSONNumber(digits: digits), let least = JSONNumber(digits: "-" + digits) else { return nil }
        return ["type": "number", "minimum": .number(least), "maximum": .number(most)]
    }

    /// The range of an integer type; `nil` for any other type.
    static func integerRange(_ name: String) -> (least: JSONNumber, most: JSONNumber)? {
        if let most = signed[name] {
            guard let value = most.int64 else { return nil }
            return (JSONNumber(-value - 1), most)
        }
        if let most = unsigned[name].flatMap({ JSONNumber(digits: $0) }) { return (0, most) }
        guard name == "Int128", let most = JSONNumber(digits: "170141183460469231731687303715884105727"),
            let least = JSONNumber(digits: "-170141183460469231731687303715884105728")
        else { return nil }
        return (least, most)
    }
}

package import JSON

/// The types of the standard library and Foundation that are decoded in a way that is known.
package enum BuiltInType {
    /// The types with a sign and their widths, and the ones without.
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

    /// The name that the others stand for.
    package static func canonical(_ name: String) -> String { synonyms[name] ?? name }

    /// Whether it is one of the integers.
    package static func isInteger(_ name: String) -> Bool {
        signed[name] != nil || unsigned[name] != nil || name == "Int128"
    }

    /// Whether raw values of this type are decoded by themselves, not in an object. `CGFloat` is decoded like `Double`,
    /// but it is another type, and the standard library does that for its own alone.
    package static func isRawValue(_ name: String) -> Bool {
        guard name != "CGFloat" else { return false }
        let name = canonical(name)
        return isInteger(name) && !name.hasSuffix("128") || ["String", "Double", "Float", "Bool"].contains(name)
    }

    /// Whether two of them have an order, so that they can bound a range.
    package static func isBound(_ name: String) -> Bool {
        isInteger(name) || ["Double", "Float", "Decimal", "Date", "String"].contains(name)
    }

    /// The schema of values of a type; nil if the type is not one of these.
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
        // The digits that Swift prints for the greatest Float; a little more is rounded to it, too.
        case "Float": return number(below: "3.4028235e38")
        case "Date", "Decimal": return ["type": "number"]
        case "UUID": return text("^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$")
        case "Data":
            return text("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")
        case "URL": return ["type": "string", "minLength": 1, "pattern": .string(urlPattern)]
        default: return nil
        }
    }

    /// RFC 3986, without what only a lenient reader takes: older systems refuse it.
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

    /// What an integer type holds; nil for every other type.
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

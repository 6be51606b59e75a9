import JSON
import TestSupport

/// Makes documents for shapes: valid ones as a backend would write them, and damaged ones.
struct DocumentGenerator {
    var random: SeededRandom

    init(random: SeededRandom) { self.random = random }

    private mutating func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }
    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    // MARK: Valid

    mutating func valid(_ shape: StructShape) -> JSONValue {
        var object = JSONObject()
        for property in shape.properties {
            guard let key = property.key else { continue }
            if property.type.isOptional, chance(30) { continue }
            object[key] = valid(property.type)
        }
        if chance(10) { object["extra"] = pick([.null, 1, "x", [:]]) }
        return .object(object)
    }

    mutating func valid(_ type: ShapeType) -> JSONValue {
        switch type {
        case .scalar(let name):
            return scalar(name)
        case .optional(let type):
            return chance(25) ? .null : valid(type)
        case .array(.scalar("Nothing")):
            return []
        case .array(let type), .set(let type):
            return .array((0..<Int.random(in: 0...3, using: &random)).map { _ in valid(type) })
        case .dictionary(let key, let value):
            return dictionary(key, value)
        case .range(let name, let bound):
            if name.hasPrefix("Partial") { return [scalar(bound.swift)] }
            let bounds = [scalar(bound.swift), scalar(bound.swift)].sorted { left, right in
                if let left = left.number, let right = right.number { return left < right }
                return (left.string ?? "") < (right.string ?? "")
            }
            return .array(bounds)
        case .structure(let shape):
            return valid(shape)
        case .wrapper(_, let raw):
            return valid(raw)
        case .rawEnum(let shape):
            return pick(shape.values)
        case .caseEnum(let shape):
            let item = pick(shape.cases)
            var values = JSONObject()
            for (key, type) in item.values where !type.isOptional || chance(60) { values[key] = valid(type) }
            return .object([item.key: .object(values)])
        case .alias(_, let type):
            return valid(type)
        }
    }

    private mutating func dictionary(_ key: ShapeType, _ value: ShapeType) -> JSONValue {
        let count = Int.random(in: 0...3, using: &random)
        switch key {
        case .scalar("String"):
            return .object(JSONObject((0..<count).map { ("key \($0) é", valid(value)) }))
        case .scalar("Int"):
            return .object(JSONObject((0..<count).map { ("\($0 * 7 - 3)", valid(value)) }))
        case .rawEnum(let shape):
            let keys = shape.values.shuffled(using: &random).prefix(count)
            guard shape.isKey else { return .array(keys.flatMap { [$0, valid(value)] }) }
            return .object(JSONObject(keys.map { ($0.string ?? $0.text, valid(value)) }))
        default:
            return .array((0..<count).flatMap { _ in [valid(key), valid(value)] })
        }
    }

    private mutating func scalar(_ name: String) -> JSONValue {
        switch name {
        case "String": return .string(pick(["", "a", "Ärger", "🙂", "null", "1", "x\u{0}y", "\"\\/"]))
        case "Bool": return .bool(chance(50))
        case "UUID":
            return .string(pick(["E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "00000000-0000-0000-0000-00000000000a"]))
        case "URL":
            return .string(
                pick([
                    "https://example.com/a/b?c=d&e=%20#f", "a/b", "mailto:x@example.com", "http://[::1]:8080/",
                    "app://card", "/a//b",
                    "#top", "?q", "https://user:pw@example.com:1/", "urn:isbn:1", "https://example.com", "file:///x",
                    "x:/y",
                ])
            )
        case "Data": return .string(pick(["", "YQ==", "YWI=", "YWJj", "+/+/YWJj"]))
        case "Date": return number(["0", "800000000", "-1", "816976800.5", "1e8", "2.5E3"])
        case "Double", "TimeInterval", "CGFloat", "Float", "Decimal":
            return number(["0", "1", "-1", "0.1", "1.5", "1e2", "-0", "12345.678", "100"])
        case "Int8": return number(["0", "127", "-128", "1.0", "1e2"])
        case let name where name.hasPrefix("U"): return number(["0", "1", "255", "1.0", "1e2", "-0"])
        default: return number(["0", "1", "-1", "100", "32767", "-32768", "1.0", "1e2", "-0"])
        }
    }

    private mutating func number(_ digits: [String]) -> JSONValue {
        JSONNumber(digits: pick(digits)).map(JSONValue.number) ?? .null
    }

    // MARK: Damaged

    /// The document with some places changed.
    mutating func damaged(_ document: JSONValue) -> JSONValue {
        var document = document
        for _ in 0..<Int.random(in: 1...3, using: &random) { document = damaged(document, depth: 0) }
        return document
    }

    private mutating func damaged(_ value: JSONValue, depth: Int) -> JSONValue {
        if depth > 0, chance(35) { return replacement(for: value) }
        switch value {
        case .object(var object) where !object.isEmpty:
            let key = pick(object.keys)
            switch Int.random(in: 0..<10, using: &random) {
            case 0: object[key] = nil
            case 1:
                object[Self.otherSpelling(of: key) ?? key.uppercased()] = pick([.null, 1, "x", object[key] ?? .null])
            case 2:
                let moved = object[key]
                object[key] = nil
                object[Self.otherSpelling(of: key) ?? key + "s"] = moved
            case 3:
                object[
                    pick([
                        "extra", "01", "+1", "-0", "é", "e\u{301}", "\u{212A}", "kickoff", "9223372036854775808", " 1",
                    ])
                ] = pick([.null, 1, "x"])
            default: object[key] = damaged(object[key] ?? .null, depth: depth + 1)
            }
            return .object(object)
        case .array(var items) where !items.isEmpty:
            let index = Int.random(in: 0..<items.count, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0: items.remove(at: index)
            case 1: items.append(items[index])
            case 2: items.reverse()
            case 3: items.insert(.null, at: index)
            default: items[index] = damaged(items[index], depth: depth + 1)
            }
            return .array(items)
        case .object where depth == 0:
            return ["extra": replacement(for: value)]
        default:
            return replacement(for: value)
        }
    }

    /// The same key for Swift's String, in other code points.
    private static func otherSpelling(of key: String) -> String? {
        let other = key.replacing("K", with: "\u{212A}").replacing("é", with: "e\u{301}").replacing(
            "ï",
            with: "i\u{308}"
        )
        return other.utf8.elementsEqual(key.utf8) ? nil : other
    }

    private mutating func replacement(for value: JSONValue) -> JSONValue {
        if chance(20) { return pick([.null, true, false, [], [:], "", 0, 1, "1", [1], ["_0": 1]]) }
        switch value {
        case .string: return .string(pick(Self.texts))
        case .number: return chance(15) ? .string(pick(Self.texts)) : number(Self.numbers)
        default: return chance(50) ? number(Self.numbers) : .string(pick(Self.texts))
        }
    }

    private static let texts = [
        "", "a", "1", "2026-11-21T18:00:00Z", "2026-11-21T18:00:00.25+01:00", "2026-02-30T00:00:00Z", "tomorrow",
        "e\u{301}", "é", "\u{212A}", "K",
        "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "e621e1f8c36c495a93fc0c247a3e6e5f",
        "+621E1F8-C36C-495A-93FC-0C247A3E6E5F",
        "E621E1F8-C36C-495A-93FC-0C247A3E6E5F\u{0}", "YQ", "YQ===", "Y Q==", "-_-_", "====", "YWJ=", "a b",
        "http://a b/", "http://[", "http://a:port/",
        "//", "%", "%zz", "1:2", "http://%41/", "http://a:99999/", "http://a:/", "ü", "http://ü.de/ä", ":", "a:b:c",
        "::1", "http://[a]/", "http://@/", "http://a@b@c/",
        "///", "http:///x", "a://:1", "//:1", "x:", "http://a:1:2/", "http://.", "?", "#", "a%", "first", "2nd", "ab",
        "zero", "half",
    ]

    private static let numbers = [
        "0", "-0", "0.0", "-0.0", "1", "-1", "1.0", "1.5", "1e2", "1E2", "1e-2", "100e-2", "127", "128", "-128", "-129",
        "255", "256", "32767", "32768",
        "65535", "65536", "2147483647", "2147483648", "-2147483649", "4294967295", "4294967296", "9007199254740993",
        "9007199254740993.0",
        "9.007199254740993e15", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "-9223372036854775809", "9223372036854775807.0",
        "-9223372036854775808.0", "-92233720368547758080e-1", "18446744073709551615", "18446744073709551616",
        "18446744073709551615.0", "1e18", "1e19", "1e20", "1e37", "1e38", "1e39", "3.4028235e38",
        "3.4028236e38", "3.5e38", "-3.5e38", "1e308", "1e309", "-1e309", "1.7976931348623157e308",
        "1.7976931348623159e308", "5e-324", "1e-320", "1e-46",
        "1e-400", "0e1000", "0e-1000", "1e-127", "1e127", "1e128", "1e-129", "12345678901234567890123456789",
        "1234567890123456789012345678901234567890123",
        "170141183460469231731687303715884105727", "170141183460469231731687303715884105728",
        "340282366920938463463374607431768211455",
        "340282366920938463463374607431768211456", "1.0000000000000000000000001", "0.1",
        "0.1000000000000000055511151231257827", "1700000000", "1499999999",
        "1500000000", "1700000000000", "800000000", "16777217", "5", "6", "-16", "10", "0.5", "2", "2.0", "5e-1", "1e1",
    ]
}

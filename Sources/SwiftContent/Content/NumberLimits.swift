internal import JSON

/// The range of numbers at one location of a schema that the phone can store. It applies where the schema itself has no
/// bound.
struct NumberLimits: Sendable {
    /// The Swift type that the phone decodes.
    let type: String
    /// Whether the schema names the type. If not, it is the type that nearly all apps declare.
    let isNamed: Bool
    /// Whether the schema has its own bound on that side. Then its author knows the app's type, and the schema's bound
    /// counts.
    private let hasMinimum: Bool
    private let hasMaximum: Bool

    /// `nil` if no limit applies: no numbers are allowed, the type is unknown, or the schema has both bounds.
    init?(_ schema: JSONObject, kinds: Set<String>) {
        if let name = (schema["x-swift-raw-type"] ?? schema["x-swift-type"])?.string {
            guard BuiltInType.isInteger(name) else { return nil }
            (type, isNamed) = (name, true)
        } else if kinds.contains("number") {
            (type, isNamed) = ("Double", false)
        } else if kinds.contains("integer") {
            (type, isNamed) = ("Int", false)
        } else {
            return nil
        }
        let isListed = schema["enum"] != nil || schema["const"] != nil
        hasMinimum = isListed || schema["minimum"] != nil || schema["exclusiveMinimum"] != nil
        hasMaximum = isListed || schema["maximum"] != nil || schema["exclusiveMaximum"] != nil
        if hasMinimum, hasMaximum { return nil }
    }

    /// The error if the phone cannot store a number; `nil` if it can, or if the schema has its own bound.
    func objection(to number: JSONNumber) -> String? {
        if !isNamed, number.isOrdinary { return nil }
        guard !(number < 0 ? hasMinimum : hasMaximum) else { return nil }
        if let range = BuiltInType.integerRange(type) {
            if number < range.least { return "\(number.digits.prefix(40)) is less than \(article) \(type) holds" }
            if number > range.most { return "\(number.digits.prefix(40)) is more than \(article) \(type) holds" }
        }
        // The spelling of a number with a named type is checked elsewhere.
        return isNamed ? nil : NumberReading.objection(to: number, as: type)
    }

    private var article: String { type.hasPrefix("Int") ? "an" : "a" }
}

extension JSONValue {
    /// Whether it contains a number that an `Int` or a `Double` may not be able to store.
    var hasUnusualNumber: Bool {
        switch self {
        case .number(let number): !number.isOrdinary
        case .array(let items): items.contains(where: \.hasUnusualNumber)
        case .object(let object): object.entries.contains { $0.value.hasUnusualNumber }
        case .null, .bool, .string: false
        }
    }
}

extension JSONNumber {
    /// Whether it certainly fits an `Int` and a `Double`: at most 16 characters and no exponent. Nearly every number
    /// does.
    fileprivate var isOrdinary: Bool { digits.utf8.count <= 16 && fixedPoint != nil }
}

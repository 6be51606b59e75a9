internal import JSON

/// What numbers at one place of a schema may be, so that the phone holds them, where the schema does not say it.
struct NumberLimits: Sendable {
    /// The Swift type that they are decoded as.
    let type: String
    /// Whether the schema names it; else it is what nearly all apps declare.
    let isNamed: Bool
    /// Whether the schema has a bound of its own on that side. Its author knows what the app declares.
    private let hasMinimum: Bool
    private let hasMaximum: Bool

    /// Nil where there is nothing to say: no numbers, a type that is not known, or bounds on both sides.
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

    /// Why the phone does not hold a number; nil if it does, or the schema says itself how far numbers go.
    func objection(to number: JSONNumber) -> String? {
        if !isNamed, number.isOrdinary { return nil }
        guard !(number < 0 ? hasMinimum : hasMaximum) else { return nil }
        if let range = BuiltInType.integerRange(type) {
            if number < range.least { return "\(number.digits.prefix(40)) is less than \(article) \(type) holds" }
            if number > range.most { return "\(number.digits.prefix(40)) is more than \(article) \(type) holds" }
        }
        // What is named is read by its type already.
        return isNamed ? nil : NumberReading.objection(to: number, as: type)
    }

    private var article: String { type.hasPrefix("Int") ? "an" : "a" }
}

extension JSONValue {
    /// Whether there is a number in it that an `Int` or a `Double` may not hold.
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
    /// Whether it has no exponent, and too few digits to be beyond what an `Int` or a `Double` holds, or a point too far
    /// out for an `Int` to be read by way of `Double`. Nearly every number is.
    fileprivate var isOrdinary: Bool { digits.utf8.count <= 16 && fixedPoint != nil }
}

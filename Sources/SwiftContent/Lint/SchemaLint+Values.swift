internal import JSON

// Rules for numbers, dates and strings.
extension SchemaLint {
    /// Up to this integer, `Double` (and so JavaScript) represents every integer exactly.
    private static let exactLimit: JSONNumber = 9_007_199_254_740_992
    private static let wideIntegers: Set<String> = ["Int64", "UInt64", "UInt", "Int128", "UInt128"]

    mutating func lookAtValue(_ schema: SchemaObject) {
        if schema.types.contains("number") { lookAtNumber(schema) }
        if schema.types.contains("integer") { lookAtInteger(schema) }
        lookForDate(schema)
        // A Swift `String` cannot declare a length, so its author could not fix the finding.
        if schema.types.contains("string"), schema.swiftType != "String", sizes.bytes(at: schema.place) == nil {
            report(
                .unboundedString,
                schema.place,
                "this text may be of any length, and attributes and content state share \(Self.contentBytes) bytes; "
                    + "say maxLength, or cut it where it is made"
            )
        }
        if let values = schema["enum"]?.array?.filter({ $0.string != nil }), values.count > 1 {
            report(
                .closedEnum,
                schema.place,
                "if a later app version adds a case, phones on this version cannot decode it and get no update; make it "
                    + "optional or a String if the list may grow"
            )
        }
    }

    private mutating func lookAtNumber(_ schema: SchemaObject) {
        let takesFractions = schema["multipleOf"]?.number?.isInteger != true
        guard [nil, "Double", "Float"].contains(schema.swiftType), schema.words.readsAsCount, takesFractions else {
            return
        }
        report(
            .floatForCount,
            schema.place,
            "'\(schema.name ?? "")' reads as a count, but 2.5 is let in; if it counts, declare an Int (\"integer\")"
        )
    }

    private mutating func lookAtInteger(_ schema: SchemaObject) {
        let limits = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const"]
            .compactMap { schema[$0]?.number }
        let isBeyond = limits.contains { $0 > Self.exactLimit || $0 < JSONNumber(-9_007_199_254_740_992) }
        let isWide: Bool
        switch schema.swiftType {
        case "Int"?, nil: isWide = schema.words.readsAsIdentifier && (isBeyond || limits.isEmpty)
        case let type?: isWide = Self.wideIntegers.contains(type)
        }
        guard isWide || schema.swiftType == nil && isBeyond else { return }
        report(
            .inexactInteger,
            schema.place,
            "whole numbers beyond 2^53 (\(Self.exactLimit.digits)) lose digits in JavaScript and other writers of JSON; "
                + "send a text, or say a lower maximum"
        )
    }

    private mutating func lookForDate(_ schema: SchemaObject) {
        let isText = schema.types.contains("string")
        let hasFormat = isText && ["date-time", "date"].contains(schema["format"]?.string)
        let isNumber = !schema.types.isDisjoint(with: ["number", "integer"])
        guard schema.swiftType == nil, hasFormat || (isText || isNumber) && schema.words.readsAsDate else { return }
        report(
            .dateWithoutType,
            schema.place,
            "this reads as a date, and a Swift Date decodes only seconds since 2001. Say with x-swift-type what the property "
                + "is: \"Date\", \"String\", \"Double\" or another type"
        )
    }
}

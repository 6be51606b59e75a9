import JSON

// The types of policies, of alerts and of ordinary pushes. Their messages name the field.

extension FieldType {
    /// A JSON value of one type. `extract` returns nil for any other type.
    static func named(
        _ what: String,
        _ extract: @escaping @Sendable (JSONValue) -> Value?,
        write: @escaping @Sendable (Value) -> JSONValue?
    ) -> FieldType {
        FieldType { value, context in
            if let result = extract(value) { return result }
            context.refuse(FieldError.wrongType, mustBe: what)
            return nil
        } write: {
            write($0)
        }
    }

    /// One word from a list.
    static func choice(_: Value.Type) -> Self
    where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
        FieldType { value, context in
            let word = value.string
            if let choice = word.flatMap({ Value(rawValue: $0) }) { return choice }
            let code = word == nil ? FieldError.wrongType : FieldError.invalidValue
            context.refuse(code, mustBe: "one of " + quotedWords(of: Value.self))
            return nil
        } write: {
            .string($0.rawValue)
        }
    }
}

extension FieldType where Value == Bool {
    static var flag: Self { named("true or false", { $0.bool }, write: { .bool($0) }) }
}

extension FieldType where Value == String {
    /// A text that is not empty.
    static func filled(_ what: String = "a text that is not empty") -> Self {
        named(what, { $0.string.flatMap { $0.isEmpty ? nil : $0 } }, write: { .string($0) })
    }
}

extension FieldType where Value == [String] {
    static var texts: Self {
        named("an array of texts") { value in
            guard let array = value.array else { return nil }
            let texts = array.compactMap(\.string)
            return texts.count == array.count ? texts : nil
        } write: {
            .array($0.map { .string($0) })
        }
    }
}

extension FieldType where Value == Int {
    /// A whole number. 3.0 is one.
    static func whole(_ range: ClosedRange<Int>) -> Self {
        FieldType { value, context in
            guard let number = value.number, number.isInteger else {
                context.refuse(FieldError.wrongType, mustBe: "a whole number")
                return nil
            }
            if let whole = number.int64.flatMap(Int.init(exactly:)), range.contains(whole) { return whole }
            context.refuse(FieldError.outOfRange, mustBe: "from \(range.lowerBound) to \(range.upperBound)")
            return nil
        } write: {
            .number(JSONNumber($0))
        }
    }
}

extension FieldType where Value == JSONNumber {
    static func number(_ range: ClosedRange<JSONNumber>) -> Self {
        FieldType { value, context in
            guard let number = value.number else {
                context.refuse(FieldError.wrongType, mustBe: "a number")
                return nil
            }
            if range.contains(number) { return number }
            let bounds = "from \(range.lowerBound.digits) to \(range.upperBound.digits)"
            context.refuse(FieldError.outOfRange, mustBe: bounds)
            return nil
        } write: {
            .number($0)
        }
    }
}

/// All the words, for messages.
func quotedWords<Word: RawRepresentable<String> & CaseIterable>(of _: Word.Type) -> String {
    Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}

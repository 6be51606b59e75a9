internal import JSON

/// Reads the members of one JSON object and collects all errors instead of stopping at the first.
///
/// A member that is `null` counts as absent, as everywhere in requests.
///
/// A wrong member yields its default, and reading continues. The caller must finish with ``finish()``, which throws the
/// collected errors.
struct FieldReader {
    private let object: JSONObject
    /// False if the value is not an object. Then missing members are not reported one by one.
    private let isObject: Bool
    private let place: JSONPointer
    private var known: Set<String> = []
    private var issues: [InvalidFields.Issue] = []

    /// A reader of `value`, whose location in the document is `place`.
    init(_ value: JSONValue, at place: JSONPointer = JSONPointer()) {
        self.place = place
        object = value.object ?? JSONObject()
        isObject = value.object != nil
        if !isObject { report(.wrongType, "An object is expected.", at: place) }
    }

    /// A member that is itself an object; `nil` if it is absent.
    mutating func nested(_ key: String) -> FieldReader? {
        value(key).map { FieldReader($0, at: place.appending(key)) }
    }

    /// The raw member; `nil` if it is absent or `null`.
    mutating func value(_ key: String) -> JSONValue? {
        known.insert(key)
        guard let value = object[key], !value.isNull else { return nil }
        return value
    }

    /// A required member.
    mutating func required(_ key: String) -> JSONValue? {
        if let value = value(key) { return value }
        if isObject { report(.missing, "'\(key)' is required.", at: place.appending(key)) }
        return nil
    }

    /// A whole number within a range.
    mutating func integer(_ key: String, in range: ClosedRange<Int>, default fallback: Int) -> Int {
        guard let value = value(key) else { return fallback }
        return integer(value, key, range) ?? fallback
    }

    /// A whole number within a range; absent means `nil`.
    mutating func optionalInteger(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let value = value(key) else { return nil }
        return integer(value, key, range)
    }

    /// `true` or `false`.
    mutating func flag(_ key: String, default fallback: Bool = false) -> Bool {
        guard let value = value(key) else { return fallback }
        if let flag = value.bool { return flag }
        report(.wrongType, "'\(key)' must be true or false.", at: place.appending(key))
        return fallback
    }

    /// A number within a range; absent means `nil`.
    mutating func number(_ key: String, in range: ClosedRange<JSONNumber>) -> JSONNumber? {
        guard let value = value(key) else { return nil }
        guard let number = value.number else {
            report(key, .wrongType, "'\(key)' must be a number.")
            return nil
        }
        guard range.contains(number) else {
            let message = "'\(key)' must be from \(range.lowerBound.digits) to \(range.upperBound.digits)."
            report(key, .outOfRange, message)
            return nil
        }
        return number
    }

    /// A string that is not empty; absent means `nil`.
    mutating func text(_ key: String) -> String? {
        guard let value = value(key) else { return nil }
        if let text = value.string, !text.isEmpty { return text }
        report(key, .wrongType, "'\(key)' must be a text that is not empty.")
        return nil
    }

    /// An array of strings; absent means empty.
    mutating func texts(_ key: String) -> [String] {
        guard let value = value(key) else { return [] }
        let texts = value.array?.compactMap(\.string) ?? []
        if value.array?.count != texts.count {
            report(key, .wrongType, "'\(key)' must be an array of texts.")
        }
        return texts
    }

    /// One word out of a list.
    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String,
        default fallback: Choice
    ) -> Choice {
        guard value(key) != nil else { return fallback }
        return optionalChoice(key) ?? fallback
    }

    /// One word out of a list; absent means `nil`.
    mutating func optionalChoice<Choice: RawRepresentable<String> & CaseIterable>(_ key: String) -> Choice? {
        guard let value = value(key) else { return nil }
        if let word = value.string, let choice = Choice(rawValue: word) { return choice }
        let words = Choice.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        report(
            value.string == nil ? .wrongType : .invalidValue,
            "'\(key)' must be one of \(words).",
            at: place.appending(key)
        )
        return nil
    }

    /// Adds the errors that the reader of a part found.
    mutating func adopt(_ error: InvalidFields) { issues += error.issues }

    /// Adds an error about a member.
    mutating func report(_ key: String, _ code: InvalidFields.Issue.Code, _ message: String) {
        report(code, message, at: place.appending(key))
    }

    private mutating func report(_ code: InvalidFields.Issue.Code, _ message: String, at pointer: JSONPointer) {
        issues.append(InvalidFields.Issue(pointer: pointer, code: code, message: message))
    }

    private mutating func integer(_ value: JSONValue, _ key: String, _ range: ClosedRange<Int>) -> Int? {
        guard let number = value.number, number.isInteger else {
            report(.wrongType, "'\(key)' must be a whole number.", at: place.appending(key))
            return nil
        }
        guard let integer = number.int64.map(Int.init), range.contains(integer) else {
            let message = "'\(key)' must be from \(range.lowerBound) to \(range.upperBound)."
            report(.outOfRange, message, at: place.appending(key))
            return nil
        }
        return integer
    }

    /// Throws if any error was found. A member that the caller never read is an unknown field, hence an error.
    mutating func finish() throws(InvalidFields) {
        for key in object.keys where !known.contains(key) {
            report(.unknownField, "'\(key)' is not known here.", at: place.appending(key))
        }
        if let first = issues.first { throw InvalidFields(first, Array(issues.dropFirst())) }
    }
}

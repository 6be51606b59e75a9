package import JSON

/// How the value of one field is read: a function from JSON to a Swift value that notes what is wrong.
package struct FieldType<Value>: Sendable {
    /// Nil exactly when an error was noted.
    package let read: @Sendable (JSONValue, inout FieldContext) -> Value?

    package init(_ read: @escaping @Sendable (JSONValue, inout FieldContext) -> Value?) {
        self.read = read
    }

    /// A JSON value of one type; `extract` is nil for any other.
    static func of(_ what: String, _ extract: @escaping @Sendable (JSONValue) -> Value?) -> FieldType {
        FieldType { value, context in
            if let result = extract(value) { return result }
            context.refuse(FieldError.wrongType, "\(what) is expected.")
            return nil
        }
    }

    /// A string of which `parse` makes a value; `what` says what it must look like.
    static func text(
        _ what: @autoclosure @escaping @Sendable () -> String,
        _ parse: @escaping @Sendable (String) -> Value?
    ) -> FieldType {
        FieldType { value, context in
            guard let text = FieldType<String>.string.read(value, &context) else { return nil }
            if let result = parse(text) { return result }
            context.refuse(FieldError.invalidValue, "\(what()) is expected.")
            return nil
        }
    }

    /// The same value, refused outside `range`.
    package func within(_ range: ClosedRange<Value>) -> FieldType where Value: Comparable & Sendable {
        FieldType { value, context in
            guard let result = read(value, &context) else { return nil }
            if range.contains(result) { return result }
            context.refuse(
                FieldError.outOfRange,
                "A value from \(range.lowerBound) to \(range.upperBound) is expected."
            )
            return nil
        }
    }
}

// MARK: JSON's own types

extension FieldType where Value == String {
    package static var string: Self { of("A string") { $0.string } }

    /// A string of so many characters (Unicode scalars), for people to read: none of them is a control character.
    package static func string(length range: ClosedRange<Int>) -> Self {
        FieldType { value, context in
            guard let text = string.read(value, &context) else { return nil }
            let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
            if isPlain, range.contains(text.unicodeScalars.count) { return text }
            let length = "A string of \(range.lowerBound) to \(range.upperBound) characters is expected"
            context.refuse(
                isPlain ? FieldError.outOfRange : FieldError.invalidValue,
                isPlain ? length + "." : length + ", none of them a control character."
            )
            return nil
        }
    }
}

extension FieldType where Value == Bool {
    package static var bool: Self { of("True or false") { $0.bool } }
}

extension FieldType where Value == Int {
    package static var int: Self { of("A whole number") { $0.int64.flatMap { Int(exactly: $0) } } }
}

extension FieldType where Value == Int64 {
    package static var int64: Self { of("A whole number") { $0.int64 } }
    /// Whole seconds, not negative, at most what 32 bits hold (68 years).
    package static var seconds: Self { int64.within(0...Int64(Int32.max)) }
    /// A counter that starts at 0: a revision, a generation.
    package static var counter: Self { int64.within(0...Int64.max) }
}

extension FieldType where Value == Double {
    package static var double: Self { of("A number") { $0.double } }
}

extension FieldType where Value == JSONValue {
    /// Any value but `null`.
    package static var any: Self { of("A value") { $0 } }
}

extension FieldType where Value == JSONObject {
    /// An object that passes through as it is.
    package static var object: Self { of("An object") { $0.object } }
}

extension FieldType where Value == JSONPointer {
    package static var pointer: Self { text("A JSON pointer") { JSONPointer($0) } }
}

// MARK: Composed types

extension FieldType {
    /// An array; every element is read, with its index in the pointer, until too much is wrong.
    package static func list<Element>(of element: FieldType<Element>) -> Self where Value == [Element] {
        FieldType { value, context in
            guard let array = value.array else {
                context.refuse(FieldError.wrongType, "An array is expected.")
                return nil
            }
            var result: [Element] = []
            result.reserveCapacity(array.count)
            let pointer = context.pointer
            for (index, item) in array.enumerated() {
                var place = FieldContext(
                    String(index),
                    in: pointer,
                    refusesUnknownFields: context.refusesUnknownFields
                )
                if let read = element.read(item, &place) { result.append(read) }
                context.errors.append(contentsOf: place.errors)
                if context.isFull { return nil }
            }
            return result.count == array.count ? result : nil
        }
    }

    /// An object whose keys are identifiers of the caller's; `what` says what a key must look like. A `null` counts as
    /// absent, as any field does. One with more than `limit` fields is refused without a look at them.
    package static func map<Key: Hashable & Sendable, Element: Sendable>(
        _ what: String,
        _ key: @escaping @Sendable (String) -> Key?,
        of element: FieldType<Element>,
        atMost limit: Int = .max
    ) -> Self where Value == [Key: Element] {
        FieldType { value, context in
            guard let object = value.object else {
                context.refuse(FieldError.wrongType, "An object is expected.")
                return nil
            }
            guard object.entries.count <= limit else {
                context.refuse(FieldError.outOfRange, "An object of at most \(limit) fields is expected.")
                return nil
            }
            var result: [Key: Element] = [:]
            let errorsBefore = context.errors.count
            let pointer = context.pointer
            for (text, item) in object.entries where !item.isNull {
                var place = FieldContext(
                    text,
                    in: pointer,
                    refusesUnknownFields: context.refusesUnknownFields
                )
                if let name = key(text) {
                    if let read = element.read(item, &place) { result[name] = read }
                } else {
                    place.refuse(FieldError.invalidValue, "\(what) is expected as the name of this field.")
                }
                context.errors.append(contentsOf: place.errors)
                if context.isFull { return nil }
            }
            return context.errors.count == errorsBefore ? result : nil
        }
    }

    /// An object with fields of its own, read under the same rule about unknown fields.
    package static func object(_: Value.Type) -> Self where Value: APIValue {
        FieldType { value, context in
            var reader = ObjectReader(
                value,
                at: context.pointer,
                refusesUnknownFields: context.refusesUnknownFields
            )
            let result = Value(reader: &reader)
            context.errors.append(contentsOf: reader.errors)
            return result
        }
    }

    /// One word of a list; the message names them all.
    package static func word(_: Value.Type) -> Self
    where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
        text("One of " + Value.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")) { Value(rawValue: $0) }
    }
}

// MARK: Texts outside a body

extension FieldType {
    /// Reads a text that stands by itself, such as a segment of a path.
    ///
    /// - Parameters:
    ///   - text: What was sent.
    ///   - place: How the text is spoken of, at the beginning of a sentence.
    /// - Returns: What the text means.
    /// - Throws: 422 that names the place, and says what it has to look like.
    package func read(_ text: String, of place: String) throws(Problem) -> Value {
        var context = FieldContext("", in: JSONPointer(), refusesUnknownFields: true)
        if let value = read(.string(text), &context) { return value }
        let words = ["\(place) is not valid."] + context.errors.map(\.message)
        throw .invalidRequest(words.joined(separator: " "))
    }
}

extension FieldType where Value == Int {
    /// A whole number as a path has it.
    package static var digits: Self { text("A whole number") { Int($0) } }
}

extension FieldType where Value == String {
    /// Any text that Postgres can hold.
    package static var storable: Self { text("A text without the character U+0000") { $0.contains("\0") ? nil : $0 } }
}

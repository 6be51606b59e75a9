package import JSON

/// How to read and write the value of one field.
package struct FieldType<Value>: Sendable {
    /// Returns nil exactly if it recorded an error.
    package let read: @Sendable (JSONValue, inout FieldContext) -> Value?
    /// Returns nil for a value without a JSON form: a number that is not finite.
    package let write: @Sendable (Value) -> JSONValue?

    package init(
        _ read: @escaping @Sendable (JSONValue, inout FieldContext) -> Value?,
        write: @escaping @Sendable (Value) -> JSONValue?
    ) {
        self.read = read
        self.write = write
    }

    /// A JSON value of one type. `extract` returns nil for any other type.
    static func of(
        _ what: String,
        _ extract: @escaping @Sendable (JSONValue) -> Value?,
        write: @escaping @Sendable (Value) -> JSONValue?
    ) -> FieldType {
        FieldType { value, context in
            if let result = extract(value) { return result }
            context.refuse(FieldError.wrongType, "\(what) is expected.")
            return nil
        } write: {
            write($0)
        }
    }

    /// A string that `parse` turns into a value, and `write` into the string. `what` describes the expected text.
    static func text(
        _ what: @autoclosure @escaping @Sendable () -> String,
        _ parse: @escaping @Sendable (String) -> Value?,
        write: @escaping @Sendable (Value) -> String
    ) -> FieldType {
        FieldType { value, context in
            guard let text = FieldType<String>.string.read(value, &context) else { return nil }
            if let result = parse(text) { return result }
            context.refuse(FieldError.invalidValue, "\(what()) is expected.")
            return nil
        } write: {
            .string(write($0))
        }
    }

    /// The same value, limited to `range`.
    package func within(_ range: ClosedRange<Value>) -> FieldType where Value: Comparable & Sendable {
        FieldType { value, context in
            guard let result = read(value, &context) else { return nil }
            if range.contains(result) { return result }
            let message = "A value from \(range.lowerBound) to \(range.upperBound) is expected."
            context.refuse(FieldError.outOfRange, message)
            return nil
        } write: {
            write($0)
        }
    }
}

// MARK: JSON's own types

extension FieldType where Value == String {
    package static var string: Self { of("A string", { $0.string }, write: { .string($0) }) }

    /// A string for people to read, without control characters. The length counts Unicode scalars.
    package static func string(length range: ClosedRange<Int>) -> Self {
        FieldType { value, context in
            guard let text = string.read(value, &context) else { return nil }
            let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
            if isPlain, range.contains(text.unicodeScalars.count) { return text }
            let length = "A string of \(range.lowerBound) to \(range.upperBound) characters is expected"
            let message = isPlain ? length + "." : length + ", none of them a control character."
            context.refuse(isPlain ? FieldError.outOfRange : FieldError.invalidValue, message)
            return nil
        } write: {
            .string($0)
        }
    }
}

extension FieldType where Value == Bool {
    package static var bool: Self { of("True or false", { $0.bool }, write: { .bool($0) }) }
}

extension FieldType where Value == Int {
    package static var int: Self {
        of("A whole number", { $0.int64.flatMap { Int(exactly: $0) } }, write: { .number(JSONNumber($0)) })
    }
}

extension FieldType where Value == Int64 {
    package static var int64: Self { of("A whole number", { $0.int64 }, write: { .number(JSONNumber($0)) }) }
    /// Whole seconds from 0 to the largest 32-bit number (68 years).
    package static var seconds: Self { int64.within(0...Int64(Int32.max)) }
    /// A counter that starts at 0: a revision, a generation.
    package static var counter: Self { int64.within(0...Int64.max) }
}

extension FieldType where Value == Double {
    package static var double: Self { of("A number", { $0.double }, write: { JSONNumber($0).map { .number($0) } }) }
}

extension FieldType where Value == JSONValue {
    /// Any value except `null`.
    package static var any: Self { of("A value", { $0 }, write: { $0 }) }
}

extension FieldType where Value == JSONObject {
    /// An object that is passed through unchanged.
    package static var object: Self { of("An object", { $0.object }, write: { .object($0) }) }
}

extension FieldType where Value == JSONPointer {
    package static var pointer: Self { text("A JSON pointer", { JSONPointer($0) }, write: { $0.description }) }
}

// MARK: Composed types

extension FieldType {
    /// An array. Reads every element, with its index in the pointer, until there are too many errors.
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
        } write: { elements in
            .array(elements.compactMap(element.write))
        }
    }

    /// The same array, refused unread if it has too few or too many elements. `what` names these.
    package func counting<Element>(_ range: ClosedRange<Int>, _ what: String) -> Self where Value == [Element] {
        FieldType { value, context in
            if let count = value.array?.count, !range.contains(count) {
                let number = range.lowerBound == 0 ? "At most" : "\(range.lowerBound) to"
                context.refuse(FieldError.outOfRange, "\(number) \(range.upperBound) \(what) are expected.")
                return nil
            }
            return read(value, &context)
        } write: {
            write($0)
        }
    }

    /// An object whose keys are the caller's identifiers. `what` describes the expected key. A member with the value
    /// `null` counts as absent, like any field. An object with more than `limit` members is refused unread. Members are
    /// written in the order of their names.
    package static func map<Key: Hashable & Sendable, Element: Sendable>(
        _ what: String,
        _ key: @escaping @Sendable (String) -> Key?,
        name: @escaping @Sendable (Key) -> String,
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
        } write: { map in
            let fields = map.compactMap { key, item in element.write(item).map { (name(key), $0) } }
            return .object(JSONObject(fields.sorted { $0.0 < $1.0 }))
        }
    }

    /// An object with its own fields. It treats unknown fields like the object around it.
    package static func object(_: Value.Type) -> Self where Value: APIValue {
        FieldType { value, context in
            context.object(value) { Value(reader: &$0) }
        } write: {
            $0.json
        }
    }

    /// One word from a list. The error message names all the words.
    package static func word(_: Value.Type) -> Self
    where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
        text("One of " + quotedWords(of: Value.self)) {
            Value(rawValue: $0)
        } write: {
            $0.rawValue
        }
    }
}

// MARK: Text outside a body

extension FieldType {
    /// Reads a single text outside a body, such as a path segment.
    ///
    /// - Parameters:
    ///   - text: The text that was sent.
    ///   - place: The name of its position, as the start of a sentence.
    /// - Returns: The parsed value.
    /// - Throws: 422 that names the position and describes the expected text.
    package func read(_ text: String, of place: String) throws(Problem) -> Value {
        var context = FieldContext("", in: JSONPointer(), refusesUnknownFields: true)
        if let value = read(.string(text), &context) { return value }
        let words = ["\(place) is not valid."] + context.errors.map(\.message)
        throw .invalidRequest(words.joined(separator: " "))
    }
}

extension FieldType where Value == Int {
    /// A whole number in a path.
    package static var digits: Self { text("A whole number", { Int($0) }, write: { $0.description }) }
}

extension FieldType where Value == String {
    /// Any text that Postgres can hold.
    package static var storable: Self {
        text("A text without the character U+0000", { $0.contains("\0") ? nil : $0 }, write: { $0 })
    }
}

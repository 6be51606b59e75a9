package import JSON

/// Reads one JSON object field by field and collects all that is wrong with it, with pointers.
///
/// A `null` counts as an absent field. A value that is not an object is one error, and its fields are not missed.
package struct ObjectReader {
    /// The object that is read; empty if the value was none.
    package let object: JSONObject
    /// Where the object is in the body.
    package let pointer: JSONPointer
    /// Handed on to the readers of objects inside this one.
    package let refusesUnknownFields: Bool
    /// What is wrong so far, in the order of reading.
    package private(set) var errors: [FieldError] = []
    private let isObject: Bool
    /// The fields that were asked for, some of them twice.
    private var known: [String] = []
    /// Room for the fields of most objects.
    private static let usualCount = 12

    package init(_ value: JSONValue, at pointer: JSONPointer = JSONPointer(), refusesUnknownFields: Bool) {
        self.pointer = pointer
        known.reserveCapacity(Self.usualCount)
        self.refusesUnknownFields = refusesUnknownFields
        if let object = value.object {
            self.object = object
            self.isObject = true
        } else {
            self.object = JSONObject()
            self.isObject = false
            note(nil, FieldError.wrongType, "An object is expected.")
        }
    }

    /// The field's value; nil and an error if it is absent or wrong. `type` is wanted only if it is there.
    package mutating func required<Value>(_ key: String, _ type: @autoclosure () -> FieldType<Value>) -> Value? {
        guard let value = value(of: key) else {
            if isObject { note(key, FieldError.missing, "'\(key)' is required.") }
            return nil
        }
        return read(value, key, type())
    }

    /// The field's value; nil if it is absent, nil and an error if it is wrong. `type` is wanted only if it is there.
    package mutating func optional<Value>(_ key: String, _ type: @autoclosure () -> FieldType<Value>) -> Value? {
        guard let value = value(of: key) else { return nil }
        return read(value, key, type())
    }

    /// Whether the field is there with a value other than `null`.
    package func has(_ key: String) -> Bool {
        switch object[key] {
        case nil, .some(.null): false
        case .some: true
        }
    }

    /// Adds an error of the caller's own, such as two fields that exclude each other.
    package mutating func refuse(_ key: String? = nil, code: String, message: String) {
        if let key { known.append(key) }
        note(key, code, message)
    }

    private mutating func note(_ key: String?, _ code: String, _ message: String) {
        let place = key.map { pointer.appending($0) } ?? pointer
        errors.append(FieldError(pointer: place, code: code, message: message))
    }

    /// Ends the reading: fields that nobody asked for become errors where they are refused.
    ///
    /// - Returns: whether nothing is wrong.
    package mutating func finish() -> Bool {
        if refusesUnknownFields {
            for (key, _) in object.entries where !known.contains(where: { ExactText.equal($0, key) }) {
                if errors.count > FieldError.maximumCount { return false }
                note(key, FieldError.unknownField, "'\(key)' is not known here.")
            }
        }
        return errors.isEmpty
    }

    /// 422 `invalid_request` with the errors collected.
    package var problem: Problem { .invalidRequest(errors) }

    private mutating func value(of key: String) -> JSONValue? {
        known.append(key)
        guard let value = object[key], !value.isNull else { return nil }
        return value
    }

    private mutating func read<Value>(_ value: JSONValue, _ key: String, _ type: FieldType<Value>) -> Value? {
        var context = FieldContext(key, in: pointer, refusesUnknownFields: refusesUnknownFields)
        let result = type.read(value, &context)
        errors.append(contentsOf: context.errors)
        return result
    }
}

/// Where a field's value is, and what was found wrong with it.
package struct FieldContext {
    private let parent: JSONPointer
    private let token: String
    package let refusesUnknownFields: Bool
    package var errors: [FieldError] = []

    /// The field, or item, `token` of the value at `parent`.
    init(_ token: String, in parent: JSONPointer, refusesUnknownFields: Bool) {
        self.parent = parent
        self.token = token
        self.refusesUnknownFields = refusesUnknownFields
    }

    /// Where the field is; put together when it is asked for, which is seldom.
    package var pointer: JSONPointer { parent.appending(token) }

    /// Whether more is wrong than is told, so that nobody need look for the rest.
    var isFull: Bool { errors.count > FieldError.maximumCount }

    /// Notes what is wrong with the field.
    mutating func refuse(_ code: String, _ message: String) {
        errors.append(FieldError(pointer: pointer, code: code, message: message))
    }
}

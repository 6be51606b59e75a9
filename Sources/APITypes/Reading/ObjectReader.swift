package import JSON

/// Reads one JSON object field by field and collects all errors with pointers.
///
/// `null` counts as an absent field. A value that is not an object causes one error; its missing fields cause none.
package struct ObjectReader {
    /// The object to read. Empty if the value is not an object.
    package let object: JSONObject
    /// The object's position in the body.
    package let pointer: JSONPointer
    /// Passed on to the readers of nested objects.
    package let refusesUnknownFields: Bool
    /// The errors so far, in reading order.
    package private(set) var errors: [FieldError] = []
    private let isObject: Bool
    /// The fields that were read. A field may be listed twice.
    private var known: [String] = []
    /// Enough capacity for the fields of most objects.
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

    /// The field's value. Returns nil and records an error if it is absent or wrong. `type` is evaluated only if the
    /// field is there.
    package mutating func required<Value>(_ key: String, _ type: @autoclosure () -> FieldType<Value>) -> Value? {
        guard let value = value(of: key) else {
            if isObject { note(key, FieldError.missing, "'\(key)' is required.") }
            return nil
        }
        return read(value, key, type())
    }

    /// The field's value. Returns nil if it is absent. Returns nil and records an error if it is wrong. `type` is
    /// evaluated only if the field is there.
    package mutating func optional<Value>(_ key: String, _ type: @autoclosure () -> FieldType<Value>) -> Value? {
        guard let value = value(of: key) else { return nil }
        return read(value, key, type())
    }

    /// The field's value, for a rule about several fields. Nil if it is absent or wrong. Records no error.
    package func peek<Value>(_ key: String, _ type: FieldType<Value>) -> Value? {
        guard let value = object[key], !value.isNull else { return nil }
        var context = FieldContext(key, in: pointer, refusesUnknownFields: refusesUnknownFields)
        return type.read(value, &context)
    }

    /// Whether the field is there with a value other than `null`.
    package func has(_ key: String) -> Bool {
        switch object[key] {
        case nil, .some(.null): false
        case .some: true
        }
    }

    /// Whether the field is there and null. In a merge patch that removes it.
    func isNull(_ key: String) -> Bool { object[key]?.isNull == true }

    /// Records an error if the field is null: a merge patch cannot remove it.
    mutating func refuseNull(_ key: String) {
        if isNull(key) { refuse(key, code: FieldError.invalidValue, message: "'\(key)' cannot be removed.") }
    }

    /// Records an error that the caller found, such as two fields that exclude each other.
    package mutating func refuse(_ key: String? = nil, code: String, message: String) {
        if let key { known.append(key) }
        note(key, code, message)
    }

    /// Records an error in a member of the object in a field.
    mutating func refuse(_ member: String, in key: String, code: String, _ message: String) {
        known.append(key)
        let place = pointer.appending(key).appending(member)
        errors.append(FieldError(pointer: place, code: code, message: message))
    }

    private mutating func note(_ key: String?, _ code: String, _ message: String) {
        let place = key.map { pointer.appending($0) } ?? pointer
        errors.append(FieldError(pointer: place, code: code, message: message))
    }

    /// Ends the reading. Fields that were never read become errors if unknown fields are refused.
    ///
    /// - Returns: whether there is no error.
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

/// A field's position, and the errors found in it.
package struct FieldContext {
    private let parent: JSONPointer
    /// The name of the field, or the index of the item.
    let token: String
    package let refusesUnknownFields: Bool
    package var errors: [FieldError] = []

    /// The context of the field or item `token` in the value at `parent`.
    init(_ token: String, in parent: JSONPointer, refusesUnknownFields: Bool) {
        self.parent = parent
        self.token = token
        self.refusesUnknownFields = refusesUnknownFields
    }

    /// The field's position. It is rarely needed, so it is built on demand.
    package var pointer: JSONPointer { parent.appending(token) }

    /// Whether there are more errors than an answer includes, so that reading can stop.
    var isFull: Bool { errors.count > FieldError.maximumCount }

    /// Records an error in the field.
    mutating func refuse(_ code: String, _ message: String) {
        errors.append(FieldError(pointer: pointer, code: code, message: message))
    }

    /// Records an error with a message that names the field: "'field' must be …".
    mutating func refuse(_ code: String, mustBe what: String) { refuse(code, "'\(token)' must be \(what).") }

    /// Reads the object in the field. It treats unknown fields like the object around it.
    mutating func object<Value>(_ value: JSONValue, _ read: (inout ObjectReader) -> Value?) -> Value? {
        var reader = ObjectReader(value, at: pointer, refusesUnknownFields: refusesUnknownFields)
        let result = read(&reader)
        errors.append(contentsOf: reader.errors)
        return result
    }
}

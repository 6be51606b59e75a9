/// One JSON value.
///
/// Numbers keep their digits and objects their order, so a document that only passes through stays the same. Equality
/// is JSON's:
/// - numbers by mathematical value (`1`, `1.0` and `1e0` are equal)
/// - strings by code points (no Unicode normalization, unlike Swift's `String`)
/// - objects regardless of order
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue: Hashable {
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): ExactText.equal(left, right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null:
            hasher.combine(0)
        case .bool(let value):
            hasher.combine(1)
            hasher.combine(value)
        case .number(let number):
            hasher.combine(2)
            hasher.combine(number)
        case .string(let text):
            hasher.combine(3)
            ExactText.hash(text, into: &hasher)
        case .array(let items):
            hasher.combine(4)
            hasher.combine(items)
        case .object(let object):
            hasher.combine(5)
            hasher.combine(object)
        }
    }
}

extension JSONValue {
    /// The text, if this is a string.
    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number, if this is a number.
    package var number: JSONNumber? {
        guard case .number(let number) = self else { return nil }
        return number
    }

    /// The exact value, if this is a number that fits `Int64`; `1.0` and `1e3` do.
    package var int64: Int64? { number?.int64 }

    /// The nearest `Double`, if this is a number within its range.
    package var double: Double? { number?.double }

    /// The value, if this is `true` or `false`.
    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The items, if this is an array.
    package var array: [JSONValue]? {
        guard case .array(let items) = self else { return nil }
        return items
    }

    /// The members, if this is an object.
    package var object: JSONObject? {
        guard case .object(let object) = self else { return nil }
        return object
    }

    /// Whether this is `null`.
    package var isNull: Bool {
        guard case .null = self else { return false }
        return true
    }

    /// The member of that name, if this is an object and has one.
    package subscript(key: String) -> JSONValue? { object?[key] }

    /// The item at that index, if this is an array and has one.
    package subscript(index: Int) -> JSONValue? {
        guard case .array(let items) = self, items.indices.contains(index) else { return nil }
        return items[index]
    }
}

/// Describes the kind only. Values may be personal data and must not be logged.
extension JSONValue: CustomStringConvertible {
    package var description: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array(let items): "array of \(items.count)"
        case .object(let object): "object of \(object.count)"
        }
    }
}

internal import JSON

/// A set of JSON types that a value may have.
struct TypeSet: OptionSet, Sendable {
    let rawValue: UInt8

    static let null = TypeSet(rawValue: 1 << 0)
    static let boolean = TypeSet(rawValue: 1 << 1)
    /// Every number without a fractional part, including `1.0`.
    static let integer = TypeSet(rawValue: 1 << 2)
    static let number = TypeSet(rawValue: 1 << 3)
    static let string = TypeSet(rawValue: 1 << 4)
    static let array = TypeSet(rawValue: 1 << 5)
    static let object = TypeSet(rawValue: 1 << 6)

    /// Name and phrase of each type, in the order of messages.
    static let all: [(name: String, set: TypeSet, phrase: String)] = [
        ("string", .string, "a string"), ("integer", .integer, "an integer"), ("number", .number, "a number"),
        ("boolean", .boolean, "a boolean"), ("object", .object, "an object"), ("array", .array, "an array"),
        ("null", .null, "null"),
    ]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The type of that name; `nil` for an unknown name.
    init?(name: String) {
        guard let type = Self.all.first(where: { $0.name == name }) else { return nil }
        self = type.set
    }

    /// Whether a value has one of these types.
    func holds(_ value: JSONValue) -> Bool {
        switch value {
        case .null: contains(.null)
        case .bool: contains(.boolean)
        case .number(let number): contains(.number) || contains(.integer) && number.isInteger
        case .string: contains(.string)
        case .array: contains(.array)
        case .object: contains(.object)
        }
    }
}

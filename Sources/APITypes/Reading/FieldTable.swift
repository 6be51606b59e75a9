package import JSON

/// The fields of one JSON object, stated once. Reading, writing and the check against `docs/openapi.yaml` use it.
///
/// A table lists the fields in the order of reading and writing:
///
/// ```swift
/// static let fields = FieldTable(Self.init) {
///     required("push_id", .string, \.pushID)
///     optional("user_id", .userID, \.userID)
/// }
/// ```
///
/// The initializer takes the required fields in this order. The table sets the other fields afterwards.
package struct FieldTable<Root: Sendable>: Sendable {
    /// The names of all fields.
    package let names: [String]
    let read: @Sendable (inout ObjectReader) -> Root?
    let write: @Sendable (Root) -> JSONValue

    /// - Parameters:
    ///   - make: Makes a value from the required fields.
    ///   - fields: The fields.
    package init<each Argument: Sendable>(
        _ make: @escaping @Sendable (repeat each Argument) -> Root,
        @FieldTableBuilder<Root> fields: () -> FieldList<Root, repeat each Argument>
    ) {
        let list = fields()
        names = list.names
        read = { reader in
            var settings: [(inout Root) -> Void] = []
            let arguments = (repeat (each list.steps).read(&reader, &settings))
            for field in list.last { field.read(&reader, &settings) }
            guard reader.finish(), var root = try? make(repeat present(each arguments)) else { return nil }
            for set in settings { set(&root) }
            return root
        }
        let writers = list.writers
        write = { root in
            var writer = ObjectWriter()
            for write in writers { write(root, &writer) }
            return writer.json
        }
    }
}

/// A value whose JSON form is an object with the fields of a table.
package protocol APIObject: APIValue {
    static var fields: FieldTable<Self> { get }
}

extension APIObject {
    package init?(reader: inout ObjectReader) {
        guard let value = Self.fields.read(&reader) else { return nil }
        self = value
    }

    package var json: JSONValue { Self.fields.write(self) }
}

// MARK: Fields

/// A required field: an argument of the initializer.
package struct RequiredField<Root: Sendable, Value: Sendable>: Sendable {
    let name: String
    let read: @Sendable (inout ObjectReader) -> Value?
    let write: @Sendable (Root, inout ObjectWriter) -> Void
}

/// Any other line of a table.
package struct OtherField<Root: Sendable>: Sendable {
    /// Nil for a check.
    let name: String?
    /// Reads the field. If it is there, adds an action that sets it.
    let read: @Sendable (inout ObjectReader, inout [(inout Root) -> Void]) -> Void
    let write: @Sendable (Root, inout ObjectWriter) -> Void

    /// A field that is set if it is there.
    fileprivate init<Value: Sendable>(
        _ name: String,
        _ type: FieldType<Value>,
        set: @escaping @Sendable (inout Root, Value) -> Void,
        write: @escaping @Sendable (Root) -> JSONValue?
    ) {
        self.name = name
        read = { reader, settings in
            guard let value = reader.optional(name, type) else { return }
            settings.append { set(&$0, value) }
        }
        self.write = { $1.add(name, write($0)) }
    }

    fileprivate init(
        name: String?,
        read: @escaping @Sendable (inout ObjectReader) -> Void,
        write: @escaping @Sendable (Root) -> JSONValue?
    ) {
        self.name = name
        self.read = { reader, _ in read(&reader) }
        self.write = { root, writer in
            if let name { writer.add(name, write(root)) }
        }
    }
}

/// A key path that can be used on any thread.
package typealias WritableFieldPath<Root, Value> = any WritableKeyPath<Root, Value> & Sendable

// The lines of a table.
extension APIObject {
    /// A field without which there is no value.
    package static func required<Value: Sendable>(
        _ name: String,
        _ type: FieldType<Value>,
        _ value: @escaping @Sendable (Self) -> Value
    ) -> RequiredField<Self, Value> {
        RequiredField(
            name: name,
            read: { $0.required(name, type) },
            write: { $1.add(name, type.write(value($0))) }
        )
    }

    /// A field that may be absent. It is left out if it is nil.
    package static func optional<Value: Sendable>(
        _ name: String,
        _ type: FieldType<Value>,
        _ path: WritableFieldPath<Self, Value?>
    ) -> OtherField<Self> {
        OtherField(name, type, set: { $0[keyPath: path] = $1 }, write: { $0[keyPath: path].flatMap(type.write) })
    }

    /// A field that may be absent. It is written as `null` if it is nil.
    package static func nullable<Value: Sendable>(
        _ name: String,
        _ type: FieldType<Value>,
        _ path: WritableFieldPath<Self, Value?>
    ) -> OtherField<Self> {
        OtherField(
            name,
            type,
            set: { $0[keyPath: path] = $1 },
            write: { $0[keyPath: path].flatMap(type.write) ?? .null }
        )
    }

    /// A field that may be absent. The property then keeps its default value. The field is always written.
    package static func defaulted<Value: Sendable>(
        _ name: String,
        _ type: FieldType<Value>,
        _ path: WritableFieldPath<Self, Value>
    ) -> OtherField<Self> {
        OtherField(name, type, set: { $0[keyPath: path] = $1 }, write: { type.write($0[keyPath: path]) })
    }

    /// A field that may be absent. The property then keeps its default value, `omitted`, and this value is left out.
    package static func defaulted<Value: Sendable & Equatable>(
        _ name: String,
        _ type: FieldType<Value>,
        _ path: WritableFieldPath<Self, Value>,
        omitting omitted: Value
    ) -> OtherField<Self> {
        OtherField(
            name,
            type,
            set: { $0[keyPath: path] = $1 },
            write: { $0[keyPath: path] == omitted ? nil : type.write($0[keyPath: path]) }
        )
    }

    /// A field that is computed from others. It is written, and ignored when it is read.
    package static func computed<Value: Sendable>(
        _ name: String,
        _ type: FieldType<Value>,
        _ value: @escaping @Sendable (Self) -> Value
    ) -> OtherField<Self> {
        OtherField(name: name, read: { _ in }, write: { type.write(value($0)) })
    }

    /// A rule about several fields, checked at this place of the reading.
    package static func check(_ rule: @escaping @Sendable (inout ObjectReader) -> Void) -> OtherField<Self> {
        OtherField(name: nil, read: rule, write: { _ in nil })
    }
}

// MARK: Building

/// A required field, and the lines between the required field before it and this one.
private struct FieldStep<Root: Sendable, Value: Sendable>: Sendable {
    let earlier: [OtherField<Root>]
    let field: RequiredField<Root, Value>

    func read(_ reader: inout ObjectReader, _ settings: inout [(inout Root) -> Void]) -> Value? {
        for field in earlier { field.read(&reader, &settings) }
        return field.read(&reader)
    }
}

/// The fields of a table. `Argument` are the types of the required ones.
package struct FieldList<Root: Sendable, each Argument: Sendable>: Sendable {
    fileprivate let names: [String]
    fileprivate let steps: (repeat FieldStep<Root, each Argument>)
    /// The lines after the last required field.
    fileprivate let last: [OtherField<Root>]
    fileprivate let writers: [@Sendable (Root, inout ObjectWriter) -> Void]

    fileprivate func adding<Value>(
        _ field: RequiredField<Root, Value>
    ) -> FieldList<Root, repeat each Argument, Value> {
        FieldList<Root, repeat each Argument, Value>(
            names: names + [field.name],
            steps: (repeat each steps, FieldStep(earlier: last, field: field)),
            last: [],
            writers: writers + [field.write]
        )
    }

    fileprivate func adding(_ field: OtherField<Root>) -> Self {
        Self(
            names: names + (field.name.map { [$0] } ?? []),
            steps: (repeat each steps),
            last: last + [field],
            writers: writers + [field.write]
        )
    }
}

/// Makes a ``FieldList`` from the lines of a table.
@resultBuilder
package enum FieldTableBuilder<Root: Sendable> {
    private static var empty: FieldList<Root> { FieldList<Root>(names: [], steps: (), last: [], writers: []) }

    package static func buildPartialBlock<Value>(first: RequiredField<Root, Value>) -> FieldList<Root, Value> {
        empty.adding(first)
    }

    package static func buildPartialBlock(first: OtherField<Root>) -> FieldList<Root> {
        empty.adding(first)
    }

    package static func buildPartialBlock<each Argument, Value>(
        accumulated: FieldList<Root, repeat each Argument>,
        next: RequiredField<Root, Value>
    ) -> FieldList<Root, repeat each Argument, Value> {
        accumulated.adding(next)
    }

    package static func buildPartialBlock<each Argument>(
        accumulated: FieldList<Root, repeat each Argument>,
        next: OtherField<Root>
    ) -> FieldList<Root, repeat each Argument> {
        accumulated.adding(next)
    }
}

/// A required field was absent or wrong.
private struct MissingField: Error {}

private func present<Value>(_ value: Value?) throws(MissingField) -> Value {
    guard let value else { throw MissingField() }
    return value
}

package import JSON

/// The fields of an API type, stated once: both ``APIValue/init(reader:)`` and ``APIValue/json`` come from them.
///
/// The bodies of the busiest routes read and write by hand.
package struct Fields<Root, each Value>: FieldTable {
    private let fields: (repeat Field<Root, each Value>)
    private let rule: @Sendable (inout ObjectReader) -> Void
    private let make: @Sendable (repeat each Value) -> Root

    /// In the order of the JSON form, which is that of the parameters of `make`. `rule` records errors about several
    /// fields.
    package init(
        _ fields: repeat Field<Root, each Value>,
        rule: @escaping @Sendable (inout ObjectReader) -> Void = { _ in },
        make: @escaping @Sendable (repeat each Value) -> Root
    ) {
        self.fields = (repeat each fields)
        self.rule = rule
        self.make = make
    }

    package func read(_ reader: inout ObjectReader) -> Root? {
        let values = (repeat (each fields).read(&reader))
        rule(&reader)
        guard reader.finish() else { return nil }
        do throws(Missing) {
            return make(repeat try present(each values))
        } catch {
            return nil
        }
    }

    package func write(_ value: Root, into writer: inout ObjectWriter) {
        repeat (each fields).write(value, &writer)
    }

    private struct Missing: Error {}

    private func present<Wrapped>(_ value: Wrapped?) throws(Missing) -> Wrapped {
        guard let value else { throw Missing() }
        return value
    }
}

/// One field: its name, its place in the type, and how its value is read and written.
package struct Field<Root, Value>: Sendable {
    /// Returns nil exactly if it recorded an error.
    fileprivate let read: @Sendable (inout ObjectReader) -> Value?
    fileprivate let write: @Sendable (Root, inout ObjectWriter) -> Void

    package static func required(
        _ name: String,
        _ place: any KeyPath<Root, Value> & Sendable,
        _ type: FieldType<Value>
    ) -> Field {
        Field { reader in
            reader.required(name, type)
        } write: { root, writer in
            writer.add(name, type.write(root[keyPath: place]))
        }
    }

    /// A field that is left out if it is nil.
    package static func optional<Wrapped>(
        _ name: String,
        _ place: any KeyPath<Root, Wrapped?> & Sendable,
        _ type: FieldType<Wrapped>
    ) -> Field where Value == Wrapped? {
        Field { reader in
            .some(reader.optional(name, type))
        } write: { root, writer in
            writer.add(name, root[keyPath: place].flatMap(type.write))
        }
    }

    /// A field that may be absent when it is read.
    package static func optional(
        _ name: String,
        _ place: any KeyPath<Root, Value> & Sendable,
        _ type: FieldType<Value>,
        else value: Value
    ) -> Field where Value: Sendable {
        Field { reader in
            reader.optional(name, type) ?? value
        } write: { root, writer in
            writer.add(name, type.write(root[keyPath: place]))
        }
    }

    /// A field with a default: it is left out if it has that value.
    package static func optional(
        _ name: String,
        _ place: any KeyPath<Root, Value> & Sendable,
        _ type: FieldType<Value>,
        unless value: Value
    ) -> Field where Value: Sendable & Equatable {
        Field { reader in
            reader.optional(name, type) ?? value
        } write: { root, writer in
            let own = root[keyPath: place]
            if own != value { writer.add(name, type.write(own)) }
        }
    }

    /// A field that is `null` if it is nil.
    package static func nullable<Wrapped>(
        _ name: String,
        _ place: any KeyPath<Root, Wrapped?> & Sendable,
        _ type: FieldType<Wrapped>
    ) -> Field where Value == Wrapped? {
        Field { reader in
            .some(reader.optional(name, type))
        } write: { root, writer in
            writer.add(name, root[keyPath: place].flatMap(type.write) ?? .null)
        }
    }

    /// A field with a reading and a writing of its own, for example one with two names.
    package init(
        read: @escaping @Sendable (inout ObjectReader) -> Value?,
        write: @escaping @Sendable (Root, inout ObjectWriter) -> Void
    ) {
        self.read = read
        self.write = write
    }
}

/// What ``Fields`` is for those who do not know its values.
package protocol FieldTable<Root>: Sendable {
    associatedtype Root

    func read(_ reader: inout ObjectReader) -> Root?
    func write(_ value: Root, into writer: inout ObjectWriter)
}

/// An API type that is read and written by its ``Fields``.
package protocol FieldwiseValue: APIValue {
    associatedtype Listed: FieldTable<Self>

    static var fields: Listed { get }
}

extension FieldwiseValue {
    package init?(reader: inout ObjectReader) {
        guard let value = Self.fields.read(&reader) else { return nil }
        self = value
    }

    package var json: JSONValue {
        var writer = ObjectWriter()
        Self.fields.write(self, into: &writer)
        return writer.json
    }
}

internal import JSON

/// The values of `enum`.
struct Enumeration: Sendable {
    /// Up to that many values are compared one after the other.
    private static let indexThreshold = 8

    let values: [JSONValue]
    private let index: Set<JSONValue>

    init(_ values: [JSONValue]) {
        self.values = values
        index = values.count > Self.indexThreshold ? Set(values) : []
    }

    func contains(_ value: JSONValue) -> Bool {
        index.isEmpty ? values.contains(value) : index.contains(value)
    }
}

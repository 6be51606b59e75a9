package import JSON

/// Builds the JSON form of a value. Fields keep the order of the calls; fields without a value are left out.
package struct ObjectWriter: Sendable {
    private var object = JSONObject()

    package init() {}

    /// The object so far.
    package var json: JSONValue { .object(object) }

    /// Adds a field, unless it is nil. The other overloads of `add` do the same for Swift values.
    package mutating func add(_ key: String, _ value: JSONValue?) {
        if let value { object[key] = value }
    }

    package mutating func add(_ key: String, _ text: String?) { add(key, text.map { JSONValue.string($0) }) }
    package mutating func add(_ key: String, _ flag: Bool?) { add(key, flag.map { JSONValue.bool($0) }) }
    package mutating func add(_ key: String, _ object: JSONObject?) { add(key, object.map { JSONValue.object($0) }) }
    package mutating func add(_ key: String, _ time: Instant?) { add(key, time?.description) }
    package mutating func add(_ key: String, _ number: Int?) {
        add(key, number.map { JSONValue.number(JSONNumber($0)) })
    }
    package mutating func add(_ key: String, _ number: Int64?) {
        add(key, number.map { JSONValue.number(JSONNumber($0)) })
    }
    /// Leaves out numbers that are not finite: they have no JSON form, and JSON readers never produce them.
    package mutating func add(_ key: String, _ number: Double?) {
        add(key, number.flatMap { JSONNumber($0) }.map { JSONValue.number($0) })
    }
    package mutating func add(_ key: String, _ value: (some APIValue)?) { add(key, value?.json) }
    package mutating func add(_ key: String, _ values: [some APIValue]?) {
        add(key, values.map { JSONValue.array($0.map(\.json)) })
    }
    package mutating func add(_ key: String, words: [String]?) {
        add(key, words.map { JSONValue.array($0.map { .string($0) }) })
    }
}

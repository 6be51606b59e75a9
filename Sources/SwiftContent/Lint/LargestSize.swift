internal import JSON

/// How many bytes of JSON a schema lets in at most.
///
/// Counted is what Tally sends: no blanks, texts in UTF-8 (escaped control characters apart), numbers as they are
/// usually written, and of an object what is declared, since the phone ignores the rest.
struct LargestSize {
    /// Types that hold each other have no largest size; neither has what takes longer to follow.
    private static let maximumDepth = 64
    /// More than this is as good as no bound, and sums of it stay within `Int`.
    private static let maximumBytes = 1 << 40
    private static let bytesPerCharacter = 4
    /// What 64 bits hold, with a sign.
    private static let integerBytes = 20
    private static let doubleBytes = 24
    private static let decimalBytes = 45
    private static let textBytes = ["UUID": 38, "Date(iso8601)": 22]

    private let document: JSONValue
    private var known: [JSONPointer: Int?] = [:]
    private var depth = 0

    init(of document: JSONValue) { self.document = document }

    /// The most bytes of a value at this place of the schema; nil if there is no bound.
    mutating func bytes(at place: JSONPointer) -> Int? {
        if let known = known[place] { return known }
        guard depth < Self.maximumDepth, let schema = document[place] else { return nil }
        // What leads back here while this is counted is a type inside itself.
        known[place] = .some(nil)
        depth += 1
        let size = bytes(of: schema, at: place).flatMap { $0 <= Self.maximumBytes ? $0 : nil }
        depth -= 1
        known[place] = .some(size)
        return size
    }

    private mutating func bytes(of schema: JSONValue, at place: JSONPointer) -> Int? {
        guard case .object(let schema) = schema else { return schema.bool == false ? 0 : nil }
        // A value has to satisfy all of these, so the least bound holds.
        var bounds: [Int?] = [own(schema, at: place)]
        if let value = schema["const"] { bounds.append(value.serialized().count) }
        if let values = schema["enum"]?.array { bounds.append(values.map { $0.serialized().count }.max() ?? 0) }
        if let target = schema["$ref"]?.string.flatMap(LocalReference.target) { bounds.append(bytes(at: target)) }
        for index in (schema["allOf"]?.array ?? []).indices {
            bounds.append(bytes(at: place.appending("allOf").appending(index: index)))
        }
        for keyword in ["anyOf", "oneOf"] {
            guard let alternatives = schema[keyword]?.array else { continue }
            let sizes = alternatives.indices.map { bytes(at: place.appending(keyword).appending(index: $0)) }
            bounds.append(sizes.contains(nil) ? nil : sizes.compactMap { $0 }.max())
        }
        return bounds.compactMap { $0 }.min()
    }

    /// What `type` and the keywords that go with each type let in.
    private mutating func own(_ schema: JSONObject, at place: JSONPointer) -> Int? {
        var most = 0
        let types = schema["type"]?.string.map { [$0] } ?? schema["type"]?.array?.compactMap(\.string) ?? []
        guard !types.isEmpty else { return nil }
        for type in types {
            let size: Int? =
                switch type {
                case "null": 4
                case "boolean": 5
                case "integer": Self.integer(schema)
                case "number": schema["x-swift-type"]?.string == "Decimal" ? Self.decimalBytes : Self.doubleBytes
                case "string": Self.text(schema)
                case "array": array(schema, at: place)
                case "object": object(schema, at: place)
                default: nil
                }
            guard let size else { return nil }
            most = max(most, size)
        }
        return most
    }

    private static func integer(_ schema: JSONObject) -> Int {
        let least = schema["minimum"]?.number ?? schema["exclusiveMinimum"]?.number
        let most = schema["maximum"]?.number ?? schema["exclusiveMaximum"]?.number
        guard let least, let most else { return integerBytes }
        return max(least.digits.utf8.count, most.digits.utf8.count)
    }

    private static func text(_ schema: JSONObject) -> Int? {
        if let type = schema["x-swift-type"]?.string, let size = textBytes[type] { return size }
        // Lengths are limited to what 32 bits hold when a schema is compiled.
        return schema["maxLength"]?.int64.map { Int($0) * bytesPerCharacter + 2 }
    }

    private mutating func array(_ schema: JSONObject, at place: JSONPointer) -> Int? {
        let first = schema["prefixItems"]?.array ?? []
        let isClosed = schema["items"]?.bool == false
        guard let most = schema["maxItems"]?.int64.map(Int.init) ?? (isClosed ? first.count : nil) else { return nil }
        var total = 2 + max(0, most - 1)
        for index in first.indices.prefix(most) {
            guard let size = bytes(at: place.appending("prefixItems").appending(index: index)) else { return nil }
            total += size
        }
        guard most > first.count, !isClosed else { return total }
        guard let size = bytes(at: place.appending("items")) else { return nil }
        return total.addingProduct(most - first.count, size)
    }

    private mutating func object(_ schema: JSONObject, at place: JSONPointer) -> Int? {
        guard schema["patternProperties"] == nil else { return nil }
        var total = 2
        for key in schema["properties"]?.object?.keys ?? [] {
            guard let size = bytes(at: place.appending("properties").appending(key)) else { return nil }
            // Quotes come with the key; a colon and a comma.
            total += JSONValue.string(key).serialized().count + size + 2
        }
        if case .object? = schema["additionalProperties"] {
            guard let most = schema["maxProperties"]?.int64,
                let key = schema["propertyNames"]?["maxLength"]?.int64,
                let size = bytes(at: place.appending("additionalProperties"))
            else { return nil }
            return total.addingProduct(Int(most), Int(key) * Self.bytesPerCharacter + 4 + size)
        }
        let isKnown = schema["properties"] != nil || schema["x-swift-type"] != nil
        return isKnown || schema["additionalProperties"]?.bool == false ? total : nil
    }
}

extension Int {
    /// Nil beyond what a number holds.
    fileprivate func addingProduct(_ left: Int, _ right: Int) -> Int? {
        let (product, isBeyond) = left.multipliedReportingOverflow(by: right)
        let (sum, isBeyondToo) = addingReportingOverflow(product)
        return isBeyond || isBeyondToo ? nil : sum
    }
}

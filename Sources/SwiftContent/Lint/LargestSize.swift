internal import JSON

/// The maximum size in bytes of the JSON that a schema allows.
///
/// It counts what Tally sends: no white space, strings in UTF-8 (without escaped control characters), and numbers in
/// their usual spelling. For an object it counts the declared members only, because the phone ignores the others.
struct LargestSize {
    /// The maximum depth. Deeper or recursive types have no largest size.
    private static let maximumDepth = 64
    /// Larger sizes count as unbounded. It also prevents overflow of sums.
    private static let maximumBytes = 1 << 40
    private static let bytesPerCharacter = 4
    /// The longest signed 64-bit integer.
    private static let integerBytes = 20
    private static let doubleBytes = 24
    private static let decimalBytes = 45
    private static let textBytes = ["UUID": 38, "Date(iso8601)": 22]

    private let document: JSONValue
    private var known: [JSONPointer: Int?] = [:]
    private var depth = 0

    init(of document: JSONValue) { self.document = document }

    /// The maximum bytes of a value at this location of the schema; `nil` if there is no bound.
    mutating func bytes(at place: JSONPointer) -> Int? {
        if let known = known[place] { return known }
        guard depth < Self.maximumDepth, let schema = document[place] else { return nil }
        // A schema that leads back here during the count is recursive, hence unbounded.
        known[place] = .some(nil)
        depth += 1
        let size = bytes(of: schema, at: place).flatMap { $0 <= Self.maximumBytes ? $0 : nil }
        depth -= 1
        known[place] = .some(size)
        return size
    }

    private mutating func bytes(of schema: JSONValue, at place: JSONPointer) -> Int? {
        guard case .object(let schema) = schema else { return schema.bool == false ? 0 : nil }
        // A value must satisfy all of these, so the least bound counts.
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

    /// The bound from `type` and the keywords of each type.
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
        // The compiler limits lengths to 32 bits.
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
            // The serialized key includes quotes. The 2 bytes are a colon and a comma.
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
    /// `nil` on overflow.
    fileprivate func addingProduct(_ left: Int, _ right: Int) -> Int? {
        let (product, isBeyond) = left.multipliedReportingOverflow(by: right)
        let (sum, isBeyondToo) = addingReportingOverflow(product)
        return isBeyond || isBeyondToo ? nil : sum
    }
}

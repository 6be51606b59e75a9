/// A cache of the last parsed payloads, because a fan-out sends the same bytes to thousands of phones.
struct BodyCache {
    private static let capacity = 16
    private var entries: [(bytes: [UInt8], body: PushBody)] = []
    private var next = 0

    /// The parsed payload, from the cache if possible.
    mutating func body(_ bytes: [UInt8]) -> PushBody {
        if let entry = entries.first(where: { $0.bytes == bytes }) { return entry.body }
        let body = PushBody(bytes: bytes, types: KnownType.samples)
        if entries.count < Self.capacity {
            entries.append((bytes, body))
        } else {
            entries[next] = (bytes, body)
            next = (next + 1) % Self.capacity
        }
        return body
    }
}

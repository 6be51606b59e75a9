/// The dynamic table of the header encoder (RFC 7541 §2.3), as the server's decoder has it.
struct HeaderTable {
    private struct Entry {
        let name: [UInt8]
        let value: [UInt8]

        var size: Int { HeaderTable.size(name.count, value.count) }
    }

    /// What the encoder uses, even if the server offers more. A few dozen fields fit.
    static let largestLimit = 4096
    private static let staticEntries = 61

    /// The newest entry is the last.
    private var entries: [Entry] = []
    private var size = 0
    private(set) var limit = Self.largestLimit
    /// The smallest limit since the last header block, if it has changed (RFC 7541 §4.2).
    private var smallestUnsaid: Int?
    /// Grows with each change, so that prepared blocks know when they are outdated.
    private(set) var version = 0

    /// Follows SETTINGS_HEADER_TABLE_SIZE. The next block has to say so.
    mutating func setLimit(_ offered: Int) {
        let new = min(offered, Self.largestLimit)
        guard new != limit else { return }
        limit = new
        smallestUnsaid = min(smallestUnsaid ?? new, new)
        evict(to: new)
        version += 1
    }

    /// The limits that the next block has to announce first, in this order.
    mutating func takeUnsaidLimits() -> [Int] {
        guard let smallest = smallestUnsaid else { return [] }
        smallestUnsaid = nil
        return smallest < limit ? [smallest, limit] : [limit]
    }

    /// Whether limits have changed since the last block.
    var hasUnsaidLimits: Bool { smallestUnsaid != nil }

    /// The index of a field (RFC 7541 §2.3.3), if the table holds it.
    func index(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Int? {
        let place = entries.lastIndex { entry in
            unsafe entry.value.count == value.count && entry.name.count == name.count
                && entry.value.elementsEqual(value) && entry.name.elementsEqual(name)
        }
        return place.map { Self.staticEntries + entries.count - $0 }
    }

    /// Whether a field of this size may be inserted.
    func hasRoom(for name: Int, _ value: Int) -> Bool { Self.size(name, value) <= limit }

    /// Inserts a field as the encoder announces it.
    mutating func insert(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        let entry = unsafe Entry(name: Array(name), value: Array(value))
        evict(to: limit - entry.size)
        entries.append(entry)
        size += entry.size
        version += 1
    }

    private mutating func evict(to allowed: Int) {
        var count = 0
        while size > allowed, count < entries.count {
            size -= entries[count].size
            count += 1
        }
        entries.removeFirst(count)
    }

    /// RFC 7541 §4.1.
    private static func size(_ name: Int, _ value: Int) -> Int { name + value + 32 }
}

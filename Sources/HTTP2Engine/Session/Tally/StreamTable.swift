/// Finds the slot of a stream by its number.
///
/// Streams that are open at the same time mostly have neighbouring numbers. So the number itself is the place in a
/// table, and a dictionary holds the few that find their place taken.
struct StreamTable: ~Copyable {
    struct Place {
        var stream: Int32
        var slot: Int32
    }

    /// No stream has this number.
    private static let nobody: Int32 = -1
    /// Twice the streams that Tally opens at the same time.
    static let size = 2048

    private var places = Slots<Place>(capacity: Self.size)
    private var others: [Int32: Int32] = [:]

    init() {
        for _ in 0..<Self.size { places.append(Place(stream: Self.nobody, slot: 0)) }
    }

    /// The slot of an open stream.
    @inline(__always)
    func slot(_ stream: Int32) -> Int? {
        let place = places[Self.index(stream)]
        if place.stream == stream { return Int(place.slot) }
        return others.isEmpty ? nil : others[stream].map { Int($0) }
    }

    mutating func insert(_ stream: Int32, slot: Int) {
        let index = Self.index(stream)
        if places[index].stream == Self.nobody {
            places[index] = Place(stream: stream, slot: Int32(slot))
        } else {
            others[stream] = Int32(slot)
        }
    }

    mutating func remove(_ stream: Int32) {
        let index = Self.index(stream)
        if places[index].stream == stream {
            places[index].stream = Self.nobody
        } else {
            others[stream] = nil
        }
    }

    @inline(__always)
    private static func index(_ stream: Int32) -> Int { Int(stream >> 1) & (size - 1) }
}

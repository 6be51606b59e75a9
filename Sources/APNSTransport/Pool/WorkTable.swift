/// All open work, found by the tags of its pushes without hashing.
///
/// A tag is generation (16 bits) | slot (16 bits) | index of the push (32 bits). With the generation, a late answer to
/// finished work cannot match the next work in the same slot.
struct WorkTable {
    private var slots: [Work?] = []
    private var generations: [UInt16] = []
    private var free: [UInt16] = []

    /// The number of entries.
    private(set) var count = 0

    /// All open work, in no particular order.
    var works: some Sequence<Work> { slots.lazy.compactMap(\.self) }

    /// Adds work; false if there are already 65,536 entries.
    mutating func insert(_ work: Work) -> Bool {
        let slot: UInt16
        if let reused = free.popLast() {
            slot = reused
        } else {
            guard slots.count <= Int(UInt16.max) else {
                return false
            }
            slot = UInt16(slots.count)
            slots.append(nil)
            generations.append(0)
        }
        slots[Int(slot)] = work
        work.place = UInt32(generations[Int(slot)]) << 16 | UInt32(slot)
        count += 1
        return true
    }

    /// Removes work; its tags become invalid.
    mutating func remove(_ work: Work) {
        let slot = Int(UInt16(truncatingIfNeeded: work.place))
        guard slots[slot] === work else {
            return
        }
        slots[slot] = nil
        generations[slot] &+= 1
        free.append(UInt16(slot))
        count -= 1
    }

    /// The work and the push of a tag; `nil` if the work has ended.
    func find(_ tag: UInt64) -> (work: Work, index: Int)? {
        let slot = Int(UInt16(truncatingIfNeeded: tag >> 32))
        guard slot < slots.count, generations[slot] == UInt16(truncatingIfNeeded: tag >> 48), let work = slots[slot]
        else {
            return nil
        }
        return (work, Int(UInt32(truncatingIfNeeded: tag)))
    }

    /// The tag of a push.
    static func tag(_ work: Work, _ index: Int) -> UInt64 {
        tag(UInt64(work.place), index)
    }

    /// The tag of a push of the work at this place.
    static func tag(_ place: UInt64, _ index: Int) -> UInt64 {
        place << 32 | UInt64(UInt32(index))
    }
}

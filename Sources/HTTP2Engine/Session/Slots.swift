/// A growing array in memory of its own.
///
/// An array's checks for uniqueness cost a push as much as the work on its elements. This one has one owner, so only
/// bounds are checked. An element never moves while it is borrowed, because `append` needs exclusive access.
@safe
struct Slots<Element: ~Copyable>: ~Copyable {
    private var base: UnsafeMutablePointer<Element>
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int = 64) {
        self.capacity = capacity
        unsafe base = .allocate(capacity: capacity)
    }

    deinit {
        unsafe base.deinitialize(count: count)
        unsafe base.deallocate()
    }

    var indices: Range<Int> { 0..<count }

    @inline(__always)
    subscript(index: Int) -> Element {
        _read {
            precondition(index >= 0 && index < count, "no such slot")
            yield unsafe base[index]
        }
        _modify {
            precondition(index >= 0 && index < count, "no such slot")
            yield unsafe &base[index]
        }
    }

    mutating func append(_ element: consuming Element) {
        if count == capacity { grow() }
        unsafe (base + count).initialize(to: element)
        count += 1
    }

    private mutating func grow() {
        capacity *= 2
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
        unsafe larger.moveInitialize(from: base, count: count)
        unsafe base.deallocate()
        unsafe base = larger
    }
}

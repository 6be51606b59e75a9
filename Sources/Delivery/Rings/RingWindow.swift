import Cards
import DeliveryStore

/// The slices that a walk has given to the transport and not stored yet, in the order of the ring.
///
/// Answers come in any order. The longest part without a gap is stored, so that a walk which breaks off starts again
/// after it. Pure: it neither sends nor stores.
struct RingWindow {
    fileprivate struct Slice {
        let count: Int
        let lastKey: Int64
        /// Nil until it is answered.
        var exceptions: PushExceptions?
    }

    /// Slices that can be stored together.
    struct Part: Sendable {
        /// The device key of the last destination; nil if the part is empty.
        private(set) var lastKey: Int64?
        private(set) var count = 0
        private(set) var exceptions: PushExceptions

        fileprivate init(_ slices: some Sequence<Slice>, nothing: PushExceptions) {
            exceptions = nothing
            for slice in slices {
                guard let some = slice.exceptions else { break }
                lastKey = slice.lastKey
                count += slice.count
                exceptions.add(some)
            }
        }
    }

    private let nothing: PushExceptions
    /// The slices that are neither stored nor being stored.
    private var slices: [Slice] = []
    /// How many were before those.
    private var stored = 0
    /// How many pushes have left, from the beginning.
    private(set) var begun = 0
    /// How many of them are not stored: what a crash would repeat.
    private(set) var open = 0
    /// How many are being stored.
    private var storing = 0
    /// Nobody of a whole part was reached: it is not stored, for it may be all of APNs that is away.
    private(set) var isStuck = false

    /// `nothing`: exceptions to add others to.
    init(nothing: PushExceptions) {
        self.nothing = nothing
    }

    /// A slice leaves. Returns its number.
    mutating func handOut(count: Int, lastKey: Int64) -> Int {
        slices.append(Slice(count: count, lastKey: lastKey))
        begun += count
        open += count
        return stored + slices.count - 1
    }

    /// A slice has its answers.
    mutating func answered(_ number: Int, _ exceptions: PushExceptions) {
        slices[number - stored].exceptions = exceptions
    }

    /// A part of at least `count` pushes to store now, if such a part exists and no other is being stored.
    mutating func takePart(ofAtLeast count: Int) -> Part? {
        guard storing == 0, !isStuck else { return nil }
        let part = Part(slices, nothing: nothing)
        guard part.count >= count else { return nil }
        if part.exceptions.areAll {
            isStuck = true
            return nil
        }
        let taken = slices.prefix { $0.exceptions != nil }.count
        slices.removeFirst(taken)
        stored += taken
        storing = part.count
        return part
    }

    /// The part that was taken is stored.
    mutating func partStored() {
        open -= storing
        storing = 0
    }

    /// Everything is answered and nothing is being stored: what is left.
    var rest: Part { Part(slices, nothing: nothing) }
}

import APNSTransport
import ActivityModel
import Cards
import DeliveryStore
import Postgres

/// The next destinations of a ring, in the order of their device keys: as many as leave under one look.
///
/// Kept by columns, and the tokens in the one piece of memory that the transport sends from, because a walk comes by a
/// million of them.
struct RingSlice: Sendable {
    private(set) var deviceKeys: [Int64] = []
    private(set) var tokens = TokenBuffer()
    /// Tries in a row that failed.
    private(set) var failures: [Int16] = []
    private(set) var traits: [Trait] = []

    /// The traits that decide in which form a destination gets the change.
    struct Trait: Hashable, Sendable {
        /// Budget class: the device allows frequent pushes.
        let frequent: Bool
        /// It is to hear the alert that is carried around.
        let hears: Bool
    }

    var count: Int { deviceKeys.count }

    /// The place that the refusal of one of them concerns.
    func place(_ index: Int, heardIfRefused: Revision) -> PushExceptions.Place? {
        guard let token = PushToken(hex: String(decoding: tokens[index], as: UTF8.self)) else { return nil }
        return PushExceptions.Place(
            deviceKey: deviceKeys[index],
            token: token,
            failures: Int(failures[index]),
            heardIfRefused: heardIfRefused
        )
    }

    /// The parts that get the same form. Nearly always that is all of it.
    var parts: [(trait: Trait, slice: RingSlice)] {
        guard let first = traits.first else { return [] }
        if traits.allSatisfy({ $0 == first }) { return [(first, self)] }
        return Trait.all.compactMap { trait in
            let indices = traits.indices.filter { traits[$0] == trait }
            return indices.isEmpty ? nil : (trait, selecting(indices))
        }
    }

    private func selecting(_ indices: [Int]) -> RingSlice {
        var part = RingSlice()
        part.deviceKeys = indices.map { deviceKeys[$0] }
        part.tokens = tokens.selecting(indices)
        part.failures = indices.map { failures[$0] }
        part.traits = indices.map { traits[$0] }
        return part
    }
}

extension RingSlice.Trait {
    fileprivate static let all = [false, true].flatMap { frequent in
        [false, true].map { RingSlice.Trait(frequent: frequent, hears: $0) }
    }
}

extension RingSlice {
    /// The columns of `subscriptions` that ``append(_:of:)`` reads, in their order. The next column must say whether
    /// the alert is news to the destination.
    static let columns = "device_key, update_token, failures, frequent"

    /// Adds the destination that a row tells of.
    mutating func append(_ index: Int, of rows: Rows) throws {
        let row = rows[index]
        let isToken = rows.withBytes(row: index, column: 1) { bytes in
            bytes.withUnsafeBytes { tokens.append(bytes: $0.bindMemory(to: UInt8.self).span) }
        }
        // A CHECK keeps the length within the bounds that make this false.
        guard isToken == true else { return }
        deviceKeys.append(try row.decode(at: 0))
        failures.append(try row.decode(at: 2))
        traits.append(Trait(frequent: try row.decode(at: 3), hears: try row.decode(at: 4)))
    }
}

package import APNSTransport
package import ActivityModel
package import Postgres
package import Store

/// The next destinations of a ring, in the order of their device keys: as many as leave under one look.
///
/// Kept by columns, and the tokens in the one piece of memory that the transport sends from, because a walk comes by a
/// million of them.
package struct RingSlice: Sendable {
    package private(set) var deviceKeys: [Int64] = []
    package private(set) var tokens = TokenBuffer()
    /// Tries in a row that failed.
    private var failures: [Int16] = []
    private var traits: [Trait] = []

    package init() {}

    /// The traits that decide in which form a destination gets the change.
    package struct Trait: Hashable, Sendable {
        /// Budget class: the device allows frequent pushes.
        package let frequent: Bool
        /// It is to hear the alert that is carried around.
        package let hears: Bool
    }

    package var count: Int { deviceKeys.count }

    /// Whom the refusal of one of them concerns.
    package func recipient(_ index: Int, heardIfRefused: Revision) -> PushExceptions.Recipient? {
        guard let token = PushToken(hex: String(decoding: tokens[index], as: UTF8.self)) else { return nil }
        return PushExceptions.Recipient(
            deviceKey: deviceKeys[index],
            token: token,
            failures: Int(failures[index]),
            heardIfRefused: heardIfRefused
        )
    }

    /// The parts that get the same form. Nearly always that is all of it.
    package var parts: [(trait: Trait, slice: RingSlice)] {
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
    /// The statement that reads destinations which ride on a ring, in the order of their keys, for ``append(_:of:)``.
    ///
    /// - Parameters:
    ///   - activityKey: The activity of the ring.
    ///   - range: The keys of the devices behind the first of the range, up to its last.
    ///   - revision: Only cards that do not certainly have this revision.
    ///   - alert: The revision of the alert that is carried around; nil if none is.
    ///   - count: How many at most.
    /// - Returns: The statement.
    package static func selection(
        of activityKey: Int64,
        in range: RingRange,
        without revision: Revision,
        alert: Revision?,
        limit count: Int
    ) -> Query {
        """
        SELECT device_key, update_token, failures, frequent, coalesce(known_revision < \(alert), false)
        FROM subscriptions AS s
        WHERE activity_key = \(activityKey) AND \(unescaped: CardStanding.rides("s"))
          AND device_key > \(range.after) AND device_key <= \(range.through) AND known_revision < \(revision)
        -- A constant: a plan for any number of rows would sort them.
        ORDER BY device_key LIMIT \(unescaped: "\(count)")
        """
    }

    /// Adds the destination that a row of the ``selection(of:in:without:alert:limit:)`` tells of.
    package mutating func append(_ index: Int, of rows: Rows) throws {
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

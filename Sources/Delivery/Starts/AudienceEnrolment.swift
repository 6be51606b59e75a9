import DeliveryStore
import Store
import Synchronization

/// Turns an audience into starts for the worker of its activity: before the starts leave, and beside them.
final class AudienceEnrolment: Sendable {
    private let room: DeliveryRoom
    private let lease: SegmentLease
    private let awaited = Atomic(false)

    init(room: DeliveryRoom, lease: SegmentLease) {
        self.room = room
        self.lease = lease
    }

    /// Whether the starts wait for what ``goOn(after:)`` does: it ends with the stretch that it is at.
    var isAwaited: Bool {
        get { awaited.load(ordering: .relaxed) }
        set { awaited.store(newValue, ordering: .relaxed) }
    }

    /// Enrols while nothing else is done: a small audience to its end, and of a large one as many as a stretch may have.
    ///
    /// - Returns: The place to go on from; nil if all of the audience has become starts.
    func begin(
        after first: AudienceStretch.Cursor,
        unless mustEnd: () -> Bool
    ) async throws -> AudienceStretch.Cursor? {
        var place = first
        var starts = 0
        repeat {
            let enrolled = try await room.work.enrolStretch(after: place, under: lease)
            guard let rest = enrolled.rest else { return nil }
            place = rest
            starts += enrolled.starts
            if starts >= room.settings.stretchSize { break }
        } while !mustEnd()
        return place
    }

    /// Enrols stretch after stretch, until somebody waits for it.
    ///
    /// - Returns: As ``begin(after:unless:)``.
    func goOn(after first: AudienceStretch.Cursor) async -> Result<AudienceStretch.Cursor?, any Error> {
        do {
            var place = first
            repeat {
                let enrolled = try await room.work.enrolStretch(after: place, under: lease)
                guard let rest = enrolled.rest else { return .success(nil) }
                place = rest
            } while !isAwaited
            return .success(place)
        } catch {
            return .failure(error)
        }
    }
}

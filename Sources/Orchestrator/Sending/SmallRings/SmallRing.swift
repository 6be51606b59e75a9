import ActivityModel
import FoundationEssentials
import JSON
import Postgres
import Store

/// A leased ring, the only one of its activity, whose whole work is one routine change to a few riders, with all that
/// its push needs.
///
/// Most activities are such: one order, one phone. Many of them are read in one statement and acknowledged in another,
/// instead of a dozen statements each. Whatever else there is to do for a ring is a ``SegmentWorker``'s.
///
/// A class, because it is large, and handed on a dozen times from the look to the answer.
final class SmallRing: Sendable {
    let lease: SegmentLease
    /// ``SegmentProgress/wakes`` when it was read.
    let wakes: Int64
    /// What its walk has completed.
    let begun: Revision
    let failures: Int
    let activity: ActivitySnapshot
    let change: ChangeToSend
    /// All who have not had the change, in the order of the ring.
    let riders: [Destination]
    /// The most riders; with them the sender need not look again whether it may go on (promise 5).
    static let mostRiders = 16

    /// What ``selection(_:of:)`` selects, in its order.
    private typealias Row = (
        Int64, Int64, Int64, Int16, String, String, String, String, String, String, Int64, String, Int32?, Double?,
        Int64, Duration, [Int64], [[UInt8]], [Bool], [Int16], [Int64], [Int64], [Int64], PGTimestamp, String,
        String?, String?
    )

    private init(_ lease: SegmentLease, _ row: Row, _ policy: Policy) {
        let (
            _, wakes, begun, failures, bundle, activity, environment, type, attributes, _, revision, content, stale,
            score, stamp, standing, keys, tokens, frequent, tries, known, confirmed, heard, now, _,
            requestID, trace
        ) = row
        self.lease = lease
        self.wakes = wakes
        self.begun = begun
        self.failures = Int(failures)
        self.activity = ActivitySnapshot(
            key: lease.activityKey,
            bundleID: BundleID(stored: bundle),
            activityID: ActivityID(stored: activity),
            environment: environment == APNSEnvironment.sandbox.rawValue ? .sandbox : .production,
            typeName: ActivityTypeName(stored: type),
            delivery: .tokens,
            state: .live,
            attributes: CompactJSON(stored: Array(attributes.utf8)),
            newest: revision,
            barrier: nil,
            isBarrierBegun: false,
            policy: policy,
            enrolment: nil,
            isPast: false,
            hold: nil,
            newAlert: nil,
            areStartsDue: false,
            areCardsDue: false,
            halt: nil
        )
        change = ChangeToSend(
            revision: revision,
            kind: .update,
            contentState: CompactJSON(stored: Array(content.utf8)),
            alert: nil,
            urgency: .routine,
            mustDeliver: false,
            timestamp: stamp,
            staleAfterSeconds: stale.map(Int.init),
            relevanceScore: score.flatMap(JSONNumber.init),
            dismissAfterSeconds: nil,
            dismissAt: nil,
            acceptedAt: .now - standing,
            priorities: [:],
            readAt: now,
            origin: RequestOrigin(stored: requestID, trace),
            isSent: false
        )
        riders = keys.indices.compactMap { index in
            // A CHECK keeps the length within the bounds that make this nil.
            guard let token = PushToken(bytes: tokens[index]) else { return nil }
            return Destination(
                deviceKey: keys[index],
                token: token,
                frequent: frequent[index],
                failures: Int(tries[index]),
                knownRevision: known[index],
                confirmedRevision: confirmed[index],
                heardRevision: heard[index],
                leaving: false
            )
        }
    }

    /// The walk after it has come to everybody, whether they were reached or not.
    var passed: Carousel {
        var carousel = Carousel(completed: begun)
        carousel.turn(to: change.revision, alert: nil)
        carousel.acknowledge(through: riders.last?.deviceKey, reachedBound: true)
        return carousel
    }

    /// Whether its walk goes from one revision to the next, so that nothing is merged.
    var isStep: Bool { change.revision == begun + 1 }
}

extension SmallRing {
    /// Of the leased segments, those that are small rings by the rows of a ``selection(_:of:)``. The others have more
    /// to do, or nothing.
    static func read(_ leases: [SegmentLease], _ rows: Rows) throws -> [SmallRing] {
        let byOwner = Dictionary(leases.filter(\.isFirstRing).map { ($0.owner, $0) }) { first, _ in first }
        var policies: [RegistryCaches.TypeKey: Policy] = [:]
        return try rows.compactMap { row in
            let row = try row.decode(Row.self)
            guard let lease = byOwner[row.24] else { return nil }
            let type = RegistryCaches.TypeKey(app: BundleID(stored: row.4), name: ActivityTypeName(stored: row.7))
            if let policy = policies[type] { return SmallRing(lease, row, policy) }
            let policy = try Policy(json: JSONValue(parsing: row.9))
            policies[type] = policy
            return SmallRing(lease, row, policy)
        }
    }

    /// Selects the small rings among those of some activities that a daemon has leased.
    ///
    /// A ring is small if it is the only one of its activity, nothing but routine changes has come since its walk came
    /// to rest, the newest may leave under the stamp that it has, and no start, no row of its own and no halt asks for
    /// more.
    static func selection(_ keys: [Int64], of daemon: UUID) -> Query {
        """
        SELECT s.activity_key, s.wakes, s.completed_revision, s.failures, a.bundle_id, a.activity_id, a.environment::text,
               a.type_name, a.attributes::text, t.policy::text, a.revision, c.content_state::text, c.stale_after_seconds,
               c.relevance_score, c.timestamp, clock_timestamp() - c.accepted_at,
               r.keys, r.tokens, r.frequent, r.failures, r.known, r.confirmed, r.heard,
               clock_timestamp(), s.lease_owner::text, c.request_id, c.traceparent
        FROM unnest(\(keys)) AS l(activity_key)
        JOIN segments AS s ON s.activity_key = l.activity_key AND s.segment = 0 AND s.lease_daemon = \(daemon)
            AND s.lease_until > clock_timestamp() AND s.through_key = \(RingRange.whole.through)
        JOIN activities AS a ON a.activity_key = s.activity_key
        JOIN activity_types AS t ON t.bundle_id = a.bundle_id AND t.type_name = a.type_name
        CROSS JOIN LATERAL (
            -- By itself: else the planner may read all changes of each activity first, to look for the newest among them.
            SELECT * FROM changes WHERE activity_key = a.activity_key AND revision = a.revision OFFSET 0
        ) AS c
        CROSS JOIN LATERAL (
            SELECT count(*) AS count, array_agg(d.device_key) AS keys, array_agg(d.update_token) AS tokens,
                   array_agg(d.frequent) AS frequent, array_agg(d.failures) AS failures,
                   array_agg(d.known_revision) AS known, array_agg(d.confirmed_revision) AS confirmed,
                   array_agg(d.heard_revision) AS heard
            FROM (
                -- By the key of the lease: else the planner may look at the riders of all activities first.
                SELECT \(unescaped: Destination.columns) FROM subscriptions
                WHERE activity_key = l.activity_key AND mode = 'token' AND state = 'riding' AND known_revision < a.revision
                ORDER BY device_key LIMIT \(mostRiders + 1)
            ) AS d
        ) AS r
        WHERE a.state = 'live' AND a.delivery = 'tokens' AND NOT a.enrolment_due
          AND s.lap_revision IS NULL AND s.cursor = 0 AND s.unsent_after IS NULL AND a.revision > s.completed_revision
          AND \(unescaped: ChangeStore.isInOrder)
          AND clock_timestamp() - c.stamped_at <= \(Duration.seconds(Stamping.maximumAge))
          AND r.count BETWEEN 1 AND \(mostRiders)
          AND \(unescaped: isStateAlone("c"))
          AND (a.revision = s.completed_revision + 1 OR NOT EXISTS (
              SELECT FROM changes AS n WHERE n.activity_key = a.activity_key AND n.revision > s.completed_revision
                AND n.revision < a.revision AND NOT \(unescaped: isStateAlone("n"))
          ))
          AND NOT EXISTS (SELECT FROM starts AS d WHERE d.activity_key = a.activity_key AND d.due_at IS NOT NULL)
          AND NOT EXISTS (
              SELECT FROM subscriptions AS d WHERE d.activity_key = a.activity_key AND d.mode = 'token' AND d.state = 'due'
          )
          AND NOT EXISTS (
              SELECT FROM activity_app_versions AS v WHERE v.activity_key = a.activity_key AND NOT v.is_settled
          )
          AND NOT EXISTS (
              SELECT FROM sending_halts AS h WHERE h.bundle_id = a.bundle_id AND h.environment = a.environment
          )
        """
    }

    /// An SQL condition: nothing about a change asks for more than its state to be sent soon.
    private static func isStateAlone(_ change: String) -> String {
        """
        (\(PriorityRule.isRoutine(change)) AND NOT \(change).must_deliver AND \(change).min_interval_seconds IS NULL)
        """
    }
}

import APITypes
import ActivityModel
import Channels
import DeliveryStore
import JSON
import Postgres
import Registry
import Store

/// A start that is accepted and whose activity is about to be inserted.
struct AcceptedStart: Sendable {
    /// Its place in the group.
    let place: Int
    let proposal: StartProposal
    let environment: APNSEnvironment

    var name: ActivityFacts.Name { proposal.start.name }
}

/// An activity that a group of starts has inserted.
struct NewActivity: Sendable {
    fileprivate let start: AcceptedStart
    let key: Int64
    /// False if it waits for its time.
    let isLive: Bool
    /// The stamp of its first change; nil if it waits for its time.
    fileprivate let timestamp: Timestamp?

    var place: Int { start.place }
    var proposal: StartProposal { start.proposal }
    var environment: APNSEnvironment { start.environment }
    /// Whether there are phones to be started.
    var hasStarts: Bool { isLive && !proposal.request.audience.isEmpty }
    fileprivate var usesChannel: Bool { proposal.request.delivery.usesChannel }
}

/// How new activities are written, many in one statement.
enum NewActivityRows {
    /// The statement that inserts activities, except those whose ids are taken. Starts come in the order of their names:
    /// two groups with the same ids never wait for each other.
    static func insertion(_ starts: [AcceptedStart]) -> Query {
        let requests = starts.map(\.proposal.request)
        return ActivityRows.insertion([
            .each("activity_id", starts.map(\.name.id.rawValue)),
            .each("bundle_id", starts.map(\.name.app.rawValue)),
            .each("environment", starts.map(\.environment.rawValue)),
            .each("type_name", requests.map(\.type.rawValue)),
            .each("delivery", requests.map(\.delivery.rawValue)),
            .each("attributes", starts.map { JSONText($0.proposal.attributes.bytes) }),
            .each("start_body", requests.map { JSONText($0.json.serialized()) }),
            .usually(false, "audience_all", requests.map(\.audience.allOfType)),
            .each("enrolment_due", requests.map { !$0.audience.isEmpty }),
            .rarely("starts_at", requests.map { $0.startsAt?.stored }),
            .rarely("ends_at", requests.map { $0.endsAt?.stored }),
        ])
    }

    /// The activities that an ``insertion(_:)`` has inserted, by the rows that it returns.
    static func inserted(_ starts: [AcceptedStart], _ rows: Rows) throws -> [NewActivity] {
        var found: [ActivityFacts.Name: (key: Int64, state: ActivityState, stamp: Timestamp)] = [:]
        for (key, app, id, word, stamp) in try rows.decoded(as: (Int64, String, String, String, Timestamp).self) {
            let name = ActivityFacts.Name(app: BundleID(stored: app), id: ActivityID(stored: id))
            let state: ActivityState = try .stored(word)
            found[name] = (key, state, stamp)
        }
        return starts.compactMap { start in
            guard let row = found[start.name] else { return nil }
            return NewActivity(
                start: start,
                key: row.key,
                isLive: row.state == .live,
                timestamp: row.stamp == 0 ? nil : row.stamp
            )
        }
    }

    /// The statements that insert what belongs to new activities, except the segments of their channels: the first
    /// changes, rings, audiences, channels and schedules.
    static func parts(of activities: [NewActivity]) -> [Query] {
        guard !activities.isEmpty else { return [] }
        let versions = activities.flatMap { activity in
            activity.proposal.appVersions.map {
                AppVersionRows.New(
                    activityKey: activity.key,
                    appVersion: $0.appVersion,
                    isWithheld: $0.isWithheld,
                    revision: 1
                )
            }
        }
        let audiences = activities.map {
            AudienceRows.Addition(
                activityKey: $0.key,
                app: $0.proposal.start.app,
                audience: $0.proposal.request.audience
            )
        }
        var statements = [firstChanges(activities), rings(activities)]
        if !versions.isEmpty { statements.append(AppVersionRows.insertion(versions)) }
        statements += AudienceRows.insertion(audiences)
        statements += channels(activities)
        statements += schedules(activities)
        return statements
    }

    private static func firstChanges(_ activities: [NewActivity]) -> Query {
        let proposals = activities.map(\.proposal)
        let origins = proposals.map(\.start.origin)
        var columns: [RowColumn] = [
            .each("activity_key", activities.map(\.key)),
            .each("content_state", proposals.map { JSONText($0.contentState.bytes) }),
            .rarely("alert", proposals.map { $0.alert.map { JSONText($0.json.serialized()) } }),
            .usually(Urgency.routine.rawValue, "urgency", proposals.map { ($0.request.urgency ?? .routine).rawValue }),
            .each("timestamp", activities.map(\.timestamp)),
            .each("request_id", origins.map { $0?.requestID }),
            .rarely("traceparent", origins.map { $0?.trace?.description }),
        ]
        columns += CardHints.rows(proposals.map { CardHints($0.request) })
        return ChangeRows.insertion(ofFirst: columns)
    }

    /// If the audience is empty, the ring has no work.
    private static func rings(_ activities: [NewActivity]) -> Query {
        SegmentRows.insertion(ofFirstRings: activities.map(\.key), areDue: activities.map(\.hasStarts))
    }

    /// Channels that can serve each other's activities.
    private struct ChannelKind: Hashable {
        let app: BundleID
        let environment: APNSEnvironment
        let storage: ChannelStorage
    }

    private static func channels(_ activities: [NewActivity]) -> [Query] {
        let byKind = Dictionary(grouping: activities.filter(\.usesChannel)) { activity in
            ChannelKind(
                app: activity.proposal.start.app,
                environment: activity.environment,
                storage: activity.proposal.type.policy.channelStorage
            )
        }
        return byKind.flatMap { kind, activities in
            ChannelRows.assignment(to: activities.map(\.key), app: kind.app, kind.environment, kind.storage)
        }
    }

    /// The statement that inserts the segments of the channels, if there are channels. One whose channel is still to be
    /// made is due. This daemon leases at most `limit` of them at once, which saves a worker the search.
    static func channelSegments(of activities: [NewActivity], leasing limit: Int, for store: SegmentStore) -> [Query] {
        let activities = activities.filter(\.usesChannel)
        guard !activities.isEmpty else { return [] }
        var room = limit
        let areLeasable = activities.map { activity in
            guard activity.isLive, room > 0 else { return false }
            room -= 1
            return true
        }
        return [
            SegmentRows.insertion(
                ofChannels: activities.map(\.key),
                areLive: activities.map(\.isLive),
                areLeasable: areLeasable,
                mayBeMade: SegmentStore.isNotHalted,
                for: store.daemon,
                lease: store.lease
            )
        ]
    }

    /// A change that Tally makes later by itself.
    private struct Schedule {
        let activityKey: Int64
        let app: BundleID
        let kind: ChangeKind
        /// Its time; or the time from which silence counts, nil: now.
        let dueAt: PGTimestamp?
        /// After how much silence an end comes; nil: it comes at its time.
        var silenceSeconds: Int32?
        /// Nil for the start, which has the origin already.
        var origin: RequestOrigin?
    }

    private static func schedules(_ activities: [NewActivity]) -> [Query] {
        let all = activities.flatMap { schedules(of: $0) }
        guard !all.isEmpty else { return [] }
        return [
            ScheduleRows.insertion([
                .each("activity_key", all.map(\.activityKey)),
                .each("bundle_id", all.map(\.app.rawValue)),
                .each("kind", all.map(\.kind.rawValue)),
                .each("due_at", all.map(\.dueAt)),
                .each("silence_seconds", all.map(\.silenceSeconds)),
                .each("request_id", all.map { $0.origin?.requestID }),
                .each("traceparent", all.map { $0.origin?.trace?.description }),
            ])
        ]
    }

    private static func schedules(of activity: NewActivity) -> [Schedule] {
        let (key, start) = (activity.key, activity.proposal.start)
        let startsAt = start.request.startsAt?.stored
        var schedules: [Schedule] = []
        if !activity.isLive {
            schedules.append(Schedule(activityKey: key, app: start.app, kind: .start, dueAt: startsAt))
        }
        if let seconds = activity.proposal.type.policy.endWhenSilentSeconds {
            schedules.append(
                Schedule(
                    activityKey: key,
                    app: start.app,
                    kind: .end,
                    dueAt: startsAt,
                    silenceSeconds: Int32(seconds),
                    origin: start.origin
                )
            )
        }
        if let endsAt = start.request.endsAt?.stored {
            schedules.append(
                Schedule(activityKey: key, app: start.app, kind: .end, dueAt: endsAt, origin: start.origin)
            )
        }
        return schedules
    }
}

import APITypes
import ActivityModel
import Channels
import JSON
import Postgres
import Registry
import Store

/// A valid start, and how it is written.
struct StartProposal: Sendable {
    let app: BundleID
    let id: ActivityID
    let environment: APNSEnvironment
    let request: StartRequest
    /// With the id attribute filled in, as they go to the phone.
    let attributes: JSONObject
    /// As it goes to the phone.
    let contentState: JSONObject
    let alert: AlertContent?
    let policy: Policy
    /// The app versions of the audience, and whether each can decode the start.
    private let appVersions: [(appVersion: String, isWithheld: Bool)]
    /// The request that brought it; nil for what Tally does by itself.
    private let origin: RequestOrigin?

    /// The app versions of the audience must be able to decode the start, unless their version of the type is retired.
    /// If the start goes to a channel, every current version of the type must be able to decode it.
    ///
    /// - Throws: 422 if the type or Apple's limits refuse it.
    init(
        app: BundleID,
        id: ActivityID,
        environment: APNSEnvironment,
        request: StartRequest,
        type: TypeContext,
        appVersions: [String],
        origin: RequestOrigin?
    ) throws(Problem) {
        self.origin = origin
        self.app = app
        self.id = id
        self.environment = environment
        self.request = request
        policy = type.policy
        var required = Set(appVersions.map(type.version(ofStored:))).filter { !type.versions.isRetired($0) }
        if request.delivery.usesChannel { required.formUnion(type.versions.current) }
        let filled = try Self.filled(request.attributes, with: id, type.policy.idAttribute)
        let (settled, state) = try Self.settled(filled, request.contentState, type, for: required)
        attributes = settled.content.object ?? filled
        contentState = type.policy.filling(state.content, with: 1).object ?? request.contentState
        self.appVersions = appVersions.map { ($0, !state.decodedBy.contains(type.version(ofStored: $0))) }
        alert = request.audience.isEmpty ? request.alert : request.alert ?? type.policy.startAlert
        if !request.audience.isEmpty, alert == nil { throw .alertRequired() }
        var combination = BodySizes.Combination(
            type: request.type,
            attributes: CompactJSON(.object(attributes)),
            delivery: request.delivery
        )
        combination.startAlert = alert
        combination.alerts = [alert].compactMap { $0 }
        combination.hints = CardHints(request)
        try BodySizes.check(CompactJSON(.object(contentState)), in: combination)
    }

    private static func settled(
        _ attributes: JSONObject,
        _ contentState: JSONObject,
        _ type: TypeContext,
        for versions: Set<Int>
    ) throws(Problem) -> (attributes: JudgedContent.Settled, contentState: JudgedContent.Settled) {
        let attributes = try JudgedContent(attributes, as: .attributes, by: type)
        let contentState = try JudgedContent(contentState, as: .contentState, by: type)
        let settledAttributes: JudgedContent.Settled
        do {
            settledAttributes = try attributes.settled(for: versions)
        } catch {
            throw .invalidAttributes(error.errors)
        }
        do {
            return (settledAttributes, try contentState.settled(for: versions))
        } catch {
            throw .invalidContentState(error.errors)
        }
    }

    private static func filled(
        _ attributes: JSONObject,
        with id: ActivityID,
        _ idAttribute: String?
    ) throws(Problem) -> JSONObject {
        guard let idAttribute else { return attributes }
        var attributes = attributes
        switch attributes[idAttribute] {
        case nil, .null:
            attributes[idAttribute] = .string(id.rawValue)
        case .string(id.rawValue):
            break
        default:
            throw .invalidAttributes([
                FieldError(
                    pointer: JSONPointer().appending(idAttribute),
                    code: FieldError.invalidValue,
                    message: "'\(idAttribute)' is filled with the activity id and must equal it where it is given."
                )
            ])
        }
        return attributes
    }

    /// Whether the start waits for its time; one whose time has passed starts at once.
    private var startsAt: PGTimestamp? { request.startsAt?.stored }

    /// Inserts the activity.
    ///
    /// - Returns: Its key; nil if the id is taken, or the app is being deleted: its keys go first (``AppDeletion``).
    func insert(on connection: PostgresConnection) async throws -> Int64? {
        let rows = try await connection.query(
            """
            INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes, start_body,
                audience_all, enrolment_due, stamp, starts_at, ends_at, started_at)
            SELECT \(app.rawValue), \(id.rawValue), \(environment.rawValue)::apns_environment,
                   \(request.type.rawValue), \(request.delivery.rawValue)::delivery_mode,
                   CASE WHEN later THEN 'scheduled'::activity_state ELSE 'live' END,
                   \(JSONValue.object(attributes).text)::json, \(request.json.text)::json,
                   \(request.audience.allOfType), \(!request.audience.isEmpty),
                   CASE WHEN later THEN 0 ELSE floor(extract(epoch FROM clock_timestamp()))::int8 END,
                   \(startsAt), \(request.endsAt?.stored),
                   CASE WHEN NOT later THEN clock_timestamp() END
            FROM (SELECT coalesce(\(startsAt) > clock_timestamp(), false) AS later) AS clock, signing_keys AS k
            WHERE k.bundle_id = \(app.rawValue) AND k.environment = \(environment.rawValue)::apns_environment
            FOR KEY SHARE OF k
            ON CONFLICT (bundle_id, activity_id) DO NOTHING
            RETURNING activity_key
            """
        )
        return try rows.single(Int64.self)
    }

    /// The statements that insert what belongs to a new activity: its first change, audience, segments, channel and
    /// schedules.
    ///
    /// - Throws: 422 if it ends in the past.
    func parts(activityKey: Int64, on connection: PostgresConnection) async throws -> [Query] {
        if let endsAt = request.endsAt {
            let rows = try await connection.query("SELECT \(endsAt.stored) <= clock_timestamp()")
            if try rows.single(Bool.self) == true {
                throw Problem.invalidRequest(
                    pointer: JSONPointer().appending("ends_at"),
                    code: FieldError.outOfRange,
                    message: "'ends_at' is in the past."
                )
            }
        }
        var statements: [Query] = [firstChange(activityKey), ring(activityKey)]
        if !appVersions.isEmpty {
            statements.append(
                AppVersionRows.insertion(
                    appVersions.map {
                        .init(activityKey: activityKey, appVersion: $0, isWithheld: $1, revision: 1)
                    }
                )
            )
        }
        statements += AudienceRows.insertion(request.audience, app: app, activityKey: activityKey)
        if request.delivery.usesChannel {
            statements += channel(activityKey)
        }
        if request.startsAt != nil {
            statements.append(
                """
                INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body)
                SELECT activity_key, bundle_id, 'start', starts_at, '{}' FROM activities
                WHERE activity_key = \(activityKey) AND state = 'scheduled'
                """
            )
        }
        if let seconds = policy.endWhenSilentSeconds {
            statements.append(
                """
                INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body, request_id, traceparent,
                    silence_seconds)
                SELECT activity_key, bundle_id, 'end', greatest(starts_at, clock_timestamp()) + \(Duration.seconds(seconds)), '{}',
                       \(origin?.requestID), \(origin?.trace?.description), \(Int32(seconds))
                FROM activities WHERE activity_key = \(activityKey)
                """
            )
        }
        if let endsAt = request.endsAt {
            statements.append(
                """
                INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body, request_id, traceparent)
                VALUES (\(activityKey), \(app.rawValue), 'end', \(endsAt.stored), '{}', \(origin?.requestID), \(origin?.trace?.description))
                """
            )
        }
        return statements
    }

    private func firstChange(_ activityKey: Int64) -> Query {
        """
        INSERT INTO changes (activity_key, revision, kind, content_state, alert, urgency,
            \(unescaped: CardHints.columns), timestamp, stamped_at, accepted_at, request_id, traceparent)
        SELECT activity_key, 1, 'start', \(JSONValue.object(contentState).text)::json,
               \(alert?.json.text)::json, \((request.urgency ?? .routine).rawValue)::urgency,
               \(hints: CardHints(request)),
               nullif(stamp, 0), CASE WHEN stamp > 0 THEN clock_timestamp() END, clock_timestamp(),
               \(origin?.requestID), \(origin?.trace?.description)
        FROM activities WHERE activity_key = \(activityKey)
        """
    }

    /// Nobody needs an update to the start itself, so the walk begins after it. If the audience is empty, the ring has
    /// no work.
    private func ring(_ activityKey: Int64) -> Query {
        """
        INSERT INTO segments (activity_key, segment, completed_revision, due_at)
        SELECT activity_key, 0, 1, CASE WHEN state = 'live' AND enrolment_due THEN clock_timestamp() END
        FROM activities WHERE activity_key = \(activityKey)
        """
    }

    /// The channel and the segment that serves it.
    private func channel(_ activityKey: Int64) -> [Query] {
        ChannelRows.assignment(to: activityKey, app: app, environment, policy.channelStorage) + [
            """
            INSERT INTO segments (activity_key, segment, completed_revision, due_at)
            SELECT activity_key, \(SegmentRows.channelSegment), 1, CASE WHEN state = 'live' THEN clock_timestamp() END
            FROM activities WHERE activity_key = \(activityKey)
            """
        ]
    }
}

import APITypes
import ActivityModel
import JSON
import Postgres

/// One transaction of reports, of as many devices. Each is judged on its own; one that is refused changes nothing and
/// does not disturb the others.
///
/// Nearly always it is known whether the devices' apps can decode what the activities send. A report of which it is not,
/// or whose device has another version of the app now, is left to a transaction of its own, which locks types and
/// activities before anything else (``AppVersionAdmission``).
struct ReportGroup {
    private struct Card: Hashable {
        let activityKey: Int64
        let deviceKey: Int64
    }

    private struct Start {
        let revision: Revision?
        let claimedAt: PGTimestamp?
    }

    private let reports: [CardReport]
    private let connection: PostgresConnection
    /// The key of each report's device, or why it is refused.
    private var devices: [Result<Int64, Problem>?]
    /// Those that are left to transactions of their own.
    private var left: Set<Int> = []

    typealias Answer = Result<SubscriptionAnswer, any Error>

    /// - Returns: One result per report, in their order. Errors of the database are thrown instead.
    /// - Throws: ``OutdatedType``; try again then, from the beginning.
    static func accept(_ reports: [CardReport], in database: Database) async throws -> [Answer] {
        var answers: [Answer?] = Array(repeating: nil, count: reports.count)
        var places = Array(reports.indices)
        while !places.isEmpty {
            let group = try await accept(places.map { reports[$0] }, together: database)
            for (place, answer) in zip(places, group) { answers[place] = answer }
            places = places.filter { answers[$0] == nil }
            // Of each activity one goes ahead; nearly always the others need not be judged after it.
            var ahead: Set<Int64> = []
            for place in places where ahead.insert(reports[place].facts.key).inserted {
                answers[place] = try await accept([reports[place]], together: database).first ?? nil
            }
            places = places.filter { answers[$0] == nil }
        }
        return answers.compactMap { $0 }
    }

    /// One transaction, repeated if something was committed beside it that it has to see.
    private static func accept(_ reports: [CardReport], together database: Database) async throws -> [Answer?] {
        try await seeingDeletions {
            try await keepingAnswer {
                try await database.withTransaction { try await accept(reports, on: $0) }
            }
        }
    }

    /// Reports that come with a key that was answered before are not carried out again. Of several with one new key the first
    /// is, and the others are left: they wait for its answer.
    ///
    /// - Returns: Nil for those that are left, none if it is a single one.
    private static func accept(_ reports: [CardReport], on connection: PostgresConnection) async throws -> [Answer?] {
        let keys = reports.compactMap(\.card.idempotencyKey)
        guard !keys.isEmpty else { return try await carryOut(reports, on: connection) }
        var kept = try await KeptAnswers<SubscriptionAnswer>.read(keys, status: 200, on: connection)
        var answers: [Answer?] = reports.map { report in
            guard let key = report.card.idempotencyKey else { return nil }
            do {
                return try kept.answer(to: key).map { .success($0) }
            } catch {
                return .failure(error)
            }
        }
        let places = reports.indices.filter { place in
            answers[place] == nil && reports[place].card.idempotencyKey.map { kept.claim($0) } ?? true
        }
        let new = try await carryOut(places.map { reports[$0] }, on: connection)
        for (place, answer) in zip(places, new) {
            answers[place] = answer
            if case .success(let answer) = answer, let key = reports[place].card.idempotencyKey {
                kept.keep(answer, for: key)
            }
        }
        let statements = kept.statements
        if !statements.isEmpty { _ = try await connection.pipeline(statements) }
        return answers
    }

    private static func carryOut(_ reports: [CardReport], on connection: PostgresConnection) async throws -> [Answer?] {
        guard !reports.isEmpty else { return [] }
        var group = ReportGroup(reports, on: connection)
        try await group.findDevices()
        try await group.addDevices()
        try await group.admit()
        return try await group.store()
    }

    private init(_ reports: [CardReport], on connection: PostgresConnection) {
        self.reports = reports
        self.connection = connection
        devices = Array(repeating: nil, count: reports.count)
    }

    // MARK: Devices

    /// Looks up devices and channels, and takes note of new versions of single ones.
    private mutating func findDevices() async throws {
        let cards = reports.map(\.card)
        let apps = cards.map(\.app.rawValue)
        let ids = cards.map(\.device.rawValue)
        let rows = try await connection.pipeline([
            .planningOnce,
            """
            SELECT r.place - 1, d.device_key, d.environment::text,
                   coalesce(r.os_version, d.os_version) IS DISTINCT FROM d.os_version
                   OR coalesce(r.app_version, d.app_version) IS DISTINCT FROM d.app_version
            FROM unnest(
                \(apps), \(ids), \(cards.map { $0.request.osVersion?.description }),
                \(cards.map { $0.request.appVersion?.description })
            ) WITH ORDINALITY AS r(bundle_id, device_id, os_version, app_version, place)
            JOIN devices AS d USING (bundle_id, device_id)
            """,
            """
            SELECT activity_key, coalesce(apns_channel_id, '') FROM channels
            WHERE activity_key = ANY(\(onChannels)) AND lost_at IS NULL
            """,
        ])
        let channels = Dictionary(grouping: try rows[2].decoded(as: (Int64, String).self)) { $0.0 }
            .mapValues { $0.map(\.1) }
        for (place, key, environment, isNewer) in try rows[1].decoded(as: (Int64, Int64, String, Bool).self) {
            let environment: APNSEnvironment = try .stored(environment)
            devices[Int(place)] = Result { () throws(Problem) in
                try check(reports[Int(place)], environment, channels)
                return key
            }
            if isNewer { left.insert(Int(place)) }
        }
        for (place, report) in reports.enumerated() where devices[place] == nil {
            if let problem = refusal(ofUnknown: report, channels) { devices[place] = .failure(problem) }
        }
    }

    /// Makes the devices that are not known yet.
    private mutating func addDevices() async throws {
        let places = devices.indices.filter { devices[$0] == nil }
            .sorted { reports[$0].card.deviceName < reports[$1].card.deviceName }
        guard !places.isEmpty else { return }
        let cards = places.map { reports[$0].card }
        let rows = try await connection.query(
            """
            INSERT INTO devices (bundle_id, device_id, environment, os_version, app_version)
            SELECT r.bundle_id, r.device_id, r.environment::apns_environment, r.os_version, r.app_version
            FROM unnest(
                \(cards.map(\.app.rawValue)), \(cards.map(\.device.rawValue)),
                \(places.map { reports[$0].facts.environment.rawValue }),
                \(cards.map { $0.request.osVersion?.description }), \(cards.map { $0.request.appVersion?.description })
            ) AS r(bundle_id, device_id, environment, os_version, app_version)
            ON CONFLICT (bundle_id, device_id) DO UPDATE SET updated_at = now()
            RETURNING bundle_id, device_id, device_key
            """
        )
        var keys: [ReportedCard.Device: Int64] = [:]
        for (app, id, key) in try rows.decoded(as: (String, String, Int64).self) {
            keys[ReportedCard.Device(app: BundleID(stored: app), id: DeviceID(stored: id))] = key
        }
        for (place, card) in zip(places, cards) {
            devices[place] = keys[card.deviceName].map { .success($0) } ?? .failure(.internalError())
        }
    }

    /// Makes sure that it is known whether the devices' apps can decode what the activities send.
    private mutating func admit() async throws {
        if reports.count == 1 { return try await admitSingle() }
        let byToken = devices.indices.filter { place in
            if case .success = devices[place] { reports[place].card.request.report.isByToken } else { false }
        }
        guard !byToken.isEmpty else { return }
        let keys = byToken.compactMap { try? devices[$0]?.get() }  // all are successes
        let rows = try await connection.query(
            AppVersionRows.hold(byToken.map { reports[$0].facts.key }, deviceKeys: keys)
        )
        let known = Set(try rows.decoded(as: (Int64, Int64).self).map { Card(activityKey: $0, deviceKey: $1) })
        for (place, key) in zip(byToken, keys) {
            let card = Card(activityKey: reports[place].facts.key, deviceKey: key)
            if !known.contains(card) { left.insert(place) }
        }
    }

    private mutating func admitSingle() async throws {
        let isNewer = left.remove(0) != nil
        guard case .success(let key) = devices[0] else { return }
        let (report, request) = (reports[0], reports[0].card.request)
        if isNewer {
            _ = try await connection.execute(
                """
                UPDATE devices SET os_version = coalesce(\(request.osVersion?.description), os_version),
                    app_version = coalesce(\(request.appVersion?.description), app_version)
                WHERE device_key = \(key)
                """
            )
        }
        let admission = AppVersionAdmission(orchestrator: report.orchestrator, deviceKey: key)
        let activityKey = request.report.isByToken ? report.facts.key : nil
        if isNewer {
            try await admission.readmit(andTo: activityKey, on: connection)
        } else if let activityKey {
            try await admission.admit(to: [activityKey], on: connection)
        }
    }

    private var onChannels: [Int64] {
        reports.filter { report in
            switch report.card.request.report {
            case .channel, .channelID: true
            case .updateToken, .ended: false
            }
        }.map(\.facts.key)
    }

    private func check(
        _ report: CardReport,
        _ environment: APNSEnvironment,
        _ channels: [Int64: [String]]
    ) throws(Problem) {
        let environment = report.card.request.environment ?? environment
        guard environment == report.facts.environment else {
            throw .invalidRequest(
                pointer: JSONPointer().appending("environment"),
                code: FieldError.invalidValue,
                message:
                    "The device is in '\(environment.rawValue)', the activity in '\(report.facts.environment.rawValue)'."
            )
        }
        let serving = channels[report.facts.key] ?? []
        let (isServed, field) =
            switch report.card.request.report {
            case .updateToken, .ended: (true, "")
            case .channel: (!serving.isEmpty, "channel")
            case .channelID(let id): (serving.contains(id.rawValue), "channel_id")
            }
        guard isServed else {
            throw .invalidRequest(
                pointer: JSONPointer().appending(field),
                code: FieldError.invalidValue,
                message: "This is not the channel of the activity."
            )
        }
    }

    /// Why a device cannot be made of a report; nil if it can.
    private func refusal(ofUnknown report: CardReport, _ channels: [Int64: [String]]) -> Problem? {
        guard let environment = report.card.request.environment else {
            return .invalidRequest(
                pointer: JSONPointer().appending("environment"),
                code: FieldError.missing,
                message: "'environment' is required for a device that is not registered yet."
            )
        }
        do throws(Problem) {
            try check(report, environment, channels)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Cards

    private func store() async throws -> [Answer?] {
        let cards = reports.indices.map { place -> Card? in
            guard !left.contains(place), case .success(let key) = devices[place] else { return nil }
            return Card(activityKey: reports[place].facts.key, deviceKey: key)
        }
        let starts = try await settleStarts(of: cards.compactMap { $0 })
        let settled = zip(reports, cards).compactMap { report, card -> SettledReport? in
            guard let card else { return nil }
            let start = starts[card]
            return SettledReport(
                facts: report.facts,
                deviceKey: card.deviceKey,
                request: report.card.request,
                revision: report.card.request.knownRevision ?? start?.revision,
                startedAt: start?.claimedAt,
                isNews: report.card.request.knownRevision != nil || start != nil
            )
        }
        let stored = try await store(settled)
        return reports.indices.map { place -> Answer? in
            if case .failure(let problem) = devices[place] { return .failure(problem) }
            guard !left.contains(place) else { return nil }
            guard let card = cards[place], let row = stored[card] else {
                return .failure(Problem.notFound("the activity"))
            }
            return Result { try answer(reports[place].card, row) }
        }
    }

    /// The cards exist, so their starts are settled, whatever is known of the pushes (promise 6).
    private func settleStarts(of cards: [Card]) async throws -> [Card: Start] {
        guard !cards.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            WITH reported AS MATERIALIZED (
                SELECT s.activity_key, s.device_key
                FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
                JOIN starts AS s USING (activity_key, device_key)
                WHERE s.state IN ('pending', 'claimed', 'unknown', 'sent')
                ORDER BY s.activity_key, s.device_key FOR NO KEY UPDATE OF s
            )
            UPDATE starts AS s SET state = 'settled', due_at = NULL, reason = NULL
            FROM reported AS r WHERE s.activity_key = r.activity_key AND s.device_key = r.device_key
            RETURNING s.activity_key, s.device_key, CASE WHEN s.attempts > 0 THEN s.revision END,
                CASE WHEN s.attempts > 0 THEN s.claimed_at END
            """
        )
        var starts: [Card: Start] = [:]
        for (activity, device, revision, claimedAt) in try rows.decoded(
            as: (Int64, Int64, Int64?, PGTimestamp?).self
        ) {
            starts[Card(activityKey: activity, deviceKey: device)] = Start(revision: revision, claimedAt: claimedAt)
        }
        return starts
    }

    private typealias Row = (mode: String?, state: String?, revision: Int64, activityState: String)

    private func store(_ reports: [SettledReport]) async throws -> [Card: Row] {
        guard !reports.isEmpty else { return [:] }
        let reports = reports.sorted { ($0.facts.key, $0.deviceKey) < ($1.facts.key, $1.deviceKey) }
        let kinds = Dictionary(grouping: reports, by: \.kind)
        let results = try await connection.pipeline(
            kinds.map { ReportRows(kind: $0, reports: $1).statement } + [
                AppVersionRows.alignment(reports.map(\.facts.key), deviceKeys: reports.map(\.deviceKey)),
                SegmentStore.announce(cards: reports.map { ($0.facts.key, $0.deviceKey) }),
                """
                SELECT a.activity_key, r.device_key, s.mode::text, s.state::text, a.revision, a.state::text
                FROM unnest(\(reports.map(\.facts.key)), \(reports.map(\.deviceKey))) AS r(activity_key, device_key)
                JOIN activities AS a USING (activity_key)
                LEFT JOIN subscriptions AS s ON s.activity_key = r.activity_key AND s.device_key = r.device_key
                """,
            ]
        )
        var rows: [Card: Row] = [:]
        for (activity, device, mode, state, revision, activityState) in try results[results.count - 1].decoded(
            as: (Int64, Int64, String?, String?, Int64, String).self
        ) {
            rows[Card(activityKey: activity, deviceKey: device)] = (mode, state, revision, activityState)
        }
        return rows
    }

    private func answer(_ card: ReportedCard, _ row: Row) throws -> SubscriptionAnswer {
        SubscriptionAnswer(
            activityID: card.activity,
            deviceID: card.device,
            mode: try row.mode.map(SubscriptionMode.stored) ?? .token,
            state: try row.state.map(SubscriptionState.stored) ?? .over,
            revision: row.revision,
            activityState: try .stored(row.activityState)
        )
    }
}

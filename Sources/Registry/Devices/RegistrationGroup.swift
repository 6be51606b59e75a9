import APITypes
import ActivityModel
import Cards
import Postgres
import Store

/// One transaction of reports of installations, of as many devices. Each is judged on its own; one that is refused
/// changes nothing and does not disturb the others.
///
/// Nearly always a report says what is stored, or makes a device. One that changes what cards and starts of its device
/// depend on, other than its topics and its user, is left to a transaction of its own.
package struct RegistrationGroup {
    package typealias Answer = Result<StoredReport, any Error>

    /// A report as the intake takes it.
    package struct Request: Sendable {
        let report: ReportedDevice
        let registry: Registry
        let activities: any ActivityKeeper

        package init(_ report: ReportedDevice, _ registry: Registry, _ activities: any ActivityKeeper) {
            (self.report, self.registry, self.activities) = (report, registry, activities)
        }
    }

    /// The changes by a report besides the rows of its device and its tokens.
    private struct Effect {
        var movedEnvironment = false
        var changedBudgetClass = false
        var changedApp = false
        var changedInstallation = false

        var isNone: Bool { !movedEnvironment && !changedBudgetClass && !changedApp && !changedInstallation }
    }

    /// The user whom a report takes from its device, and the one whom it gives to it.
    private struct UserChange {
        let former: UserID?
        let next: UserID?

        var users: [UserID] { [former, next].compactMap { $0 } }
    }

    private let reports: [ReportedDevice]
    private let registry: Registry
    private let activities: any ActivityKeeper
    private let connection: PostgresConnection
    private var answers: [Answer?]
    /// The keys of the devices whose reports are taken.
    private var keys: [Int: Int64] = [:]
    /// The reports whose devices exist already.
    private var effects: [Int: Effect] = [:]
    /// Reports of known devices that name another user than the stored one, or none.
    private var userChanges: [Int: UserChange] = [:]
    /// Changes of topics by reports of known devices. The others keep theirs.
    private var topicChanges: [Int: TopicChange] = [:]
    /// Reports that are left to other transactions.
    private var left: Set<Int> = []

    /// Takes reports, and starts on their devices what is running, before they are answered.
    ///
    /// - Returns: One result for each, in their order. Errors of the database are thrown instead.
    package static func accept(_ requests: [Request]) async throws -> [Answer] {
        guard let first = requests.first else { return [] }
        let reports = requests.map(\.report)
        var answers: [Answer?] = Array(repeating: nil, count: reports.count)
        // The reports of a transaction each; the last is the next.
        var groups = [Array(reports.indices)]
        while let places = groups.popLast() {
            let taken = try await accept(places.map { reports[$0] }, together: first)
            for (place, answer) in zip(places, taken) { answers[place] = answer }
            groups += places.filter { answers[$0] == nil }.map { [$0] }
        }
        return answers.compactMap { $0 }
    }

    /// One transaction, and the work after its commit; nil for reports that are left.
    private static func accept(
        _ reports: [ReportedDevice],
        together first: Request
    ) async throws -> [Answer?] {
        let answers = try await first.registry.withCurrentType {
            try await seeingDeletions {
                try await keepingAnswer {
                    try await first.registry.database.withYieldingTransaction { connection in
                        try await accept(reports, as: first, on: connection)
                    }
                }
            }
        }
        var keys: [Int64] = []
        var withTokens: [Int64] = []
        for (report, answer) in zip(reports, answers) {
            guard case .success(let stored) = answer else { continue }
            keys.append(stored.deviceKey)
            if !report.request.startTokens.isEmpty { withTokens.append(stored.deviceKey) }
        }
        // Also after a repeated request: the first may have been committed just before its daemon died.
        let owners = withTokens.isEmpty ? [] : [TokenOwners.startTokens(of: withTokens)]
        try await first.activities.startActivities(on: keys, after: owners, isReport: true)
        return answers
    }

    /// Reports that come with a key that was answered before are not carried out again: they are answered with the
    /// device as it is now. If several have one new key, the first is carried out and the others are left.
    private static func accept(
        _ reports: [ReportedDevice],
        as request: Request,
        on connection: PostgresConnection
    ) async throws -> [Answer?] {
        let idempotencyKeys = reports.compactMap(\.idempotencyKey)
        var group = RegistrationGroup(
            reports: reports,
            registry: request.registry,
            activities: request.activities,
            connection: connection,
            answers: Array(repeating: nil, count: reports.count)
        )
        guard !idempotencyKeys.isEmpty else {
            try await group.carryOut(Array(reports.indices), isLast: true)
            return group.answers
        }
        var kept = try await KeptAnswers<KeptRegistration>.read(idempotencyKeys, status: 200, on: connection)
        var places: [Int] = []
        for (place, report) in reports.enumerated() {
            do {
                if let key = report.idempotencyKey, try kept.answer(to: key) != nil {
                    group.answers[place] = try await group.deviceNow(report)
                } else if report.idempotencyKey.map({ kept.claim($0) }) ?? true {
                    places.append(place)
                }
            } catch let problem as Problem {
                group.answers[place] = .failure(problem)
            }
        }
        try await group.carryOut(places, isLast: false)
        for place in places {
            if case .success = group.answers[place], let key = reports[place].idempotencyKey {
                kept.keep(KeptRegistration(), for: key)
            }
        }
        let statements = kept.statements
        if !statements.isEmpty { _ = try await connection.commit(statements) }
        return group.answers
    }

    /// The answer to a repeated report.
    ///
    /// - Throws: 404 if the device has been deleted since it was answered.
    private func deviceNow(_ report: ReportedDevice) async throws -> Answer {
        guard let key = try await Registry.key(of: report.id, report.app, connection),
            let device = try await Registry.devices(keys: [key], connection)[key]
        else { throw Problem.notFound("the device") }
        return .success(StoredReport(deviceKey: key, device: device))
    }

    /// `isLast`: the transaction has nothing else to do.
    private mutating func carryOut(_ places: [Int], isLast: Bool) async throws {
        guard !places.isEmpty else { return }
        try await find(places)
        let open = places.filter { answers[$0] == nil && !left.contains($0) }
        try await store(open)
        let taken = open.filter { keys[$0] != nil }
        for place in taken { try await carryThrough(place) }
        let topics = try await storeTopics(of: taken)
        let stale = try await storeTokens(
            of: taken,
            after: topics,
            isLast: isLast && !reports.contains(where: \.wantsDevice)
        )
        let wanted = taken.filter { reports[$0].wantsDevice }.compactMap { keys[$0] }
        let devices = try await Registry.devices(keys: wanted, connection)
        for place in taken {
            guard let key = keys[place] else { continue }
            answers[place] = .success(
                StoredReport(
                    deviceKey: key,
                    stale: stale.contains(key) ? .generation : nil,
                    device: devices[key]
                )
            )
        }
    }

    // MARK: Devices

    /// Looks up the devices that are there and locks them: reports of one are taken one after the other, and what is
    /// compared is what is really stored.
    private mutating func find(_ places: [Int]) async throws {
        let asked = places.map { reports[$0] }
        let requests = asked.map(\.request)
        let statements: [Query] = [
            .planningOnce,
            "SELECT bundle_id FROM apps WHERE bundle_id = ANY(\(Set(asked.map(\.app.rawValue)).sorted()))",
            """
            SELECT r.place - 1 AS index, d.device_key, d.user_id,
                   d.environment = r.environment::apns_environment AS has_same_environment,
                   d.frequent_pushes_enabled <> coalesce(r.frequent, d.frequent_pushes_enabled) AS changed_budget_class,
                   d.app_version IS DISTINCT FROM coalesce(r.app_version, d.app_version) AS changed_app,
                   \(unescaped: Installations.isStale("r.installation", hasGeneration: "r.has_generation")) AS is_stale,
                   \(unescaped: Installations.isNew("r.installation")) AS is_new_installation
            FROM (
                SELECT r.*, k.device_key
                FROM unnest(
                    \(asked.map(\.app.rawValue)), \(asked.map(\.id.rawValue)), \(requests.map(\.environment.rawValue)),
                    \(requests.map(\.frequentPushesEnabled)), \(requests.map { $0.appVersion?.description }),
                    \(requests.map(\.installation)), \(requests.map(\.hasGeneration))
                ) WITH ORDINALITY
                    AS r(bundle_id, device_id, environment, frequent, app_version, installation, has_generation, place)
                \(unescaped: DeviceRows.named(by: "r"))
            ) AS r
            \(unescaped: DeviceRows.held(by: "r"))
            """,
        ]
        let revocations = RevocationRows.revoked(asked.map(\.ticket))
        let locks = RevocationRows.locks(asked.map(\.ticket))
        let rows = Array(try await connection.pipeline(locks + statements + revocations).dropFirst(locks.count))
        let apps = Set(try rows[1].decoded(as: String.self))
        for place in places where !apps.contains(reports[place].app.rawValue) {
            answers[place] = .failure(Problem.notFound("the app"))
        }
        if !revocations.isEmpty {
            for index in try RevocationRows.places(rows[3]) { answers[places[index]] = .failure(Problem.ticketRevoked) }
        }
        for row in rows[2] {
            let index: Int = try row["index"]
            let place = places[index]
            guard answers[place] == nil else { continue }
            let key: Int64 = try row["device_key"]
            let isStale: Bool = try row["is_stale"]
            if isStale {
                answers[place] = try await staleAnswer(place, key)
                continue
            }
            let hasSameEnvironment: Bool = try row["has_same_environment"]
            let effect = Effect(
                movedEnvironment: !hasSameEnvironment,
                changedBudgetClass: try row["changed_budget_class"],
                changedApp: try row["changed_app"],
                changedInstallation: try row["is_new_installation"]
            )
            if places.count > 1, !effect.isNone {
                left.insert(place)
            } else {
                (keys[place], effects[place]) = (key, effect)
                let stored: String? = try row["user_id"]
                let user = reports[place].request.user
                if user != .unsaid, user.id?.rawValue != stored {
                    userChanges[place] = UserChange(former: stored.map { UserID(stored: $0) }, next: user.id)
                }
            }
        }
        try await findTopics(places)
    }

    /// Finds the reports that change the topics of known devices. Nearly always a report names the topics that are
    /// stored, so Postgres compares them and gives only those that differ.
    private mutating func findTopics(_ places: [Int]) async throws {
        var reported: [TopicRows.OfDevice] = []
        for place in places {
            guard let key = keys[place], let topics = reports[place].request.topics else { continue }
            reported.append(
                TopicRows.OfDevice(app: reports[place].app, deviceKey: key, topics: TopicList(topics))
            )
        }
        guard !reported.isEmpty else { return }
        let rows = try await connection.query(TopicRows.differing(from: reported))
        let stored = Dictionary(try rows.decoded(as: (Int64, String).self)) { first, _ in first }
        for place in places {
            guard let list = keys[place].flatMap({ stored[$0] }), let topics = reports[place].request.topics else {
                continue
            }
            do {
                let allowed = reports[place].request.allowedTopics
                let known = Set(TopicList(stored: list).topics)
                let change = try TopicChange(reported: topics, allowed: allowed, of: known)
                if !change.isNone { topicChanges[place] = change }
            } catch {
                answers[place] = .failure(error)
            }
        }
    }

    /// The answer to a report of an installation that was replaced; it changes nothing.
    private func staleAnswer(_ place: Int, _ key: Int64) async throws -> Answer {
        let device = reports[place].wantsDevice ? try await Registry.devices(keys: [key], connection)[key] : nil
        return .success(StoredReport(deviceKey: key, stale: .installation, device: device))
    }

    /// Writes the devices. One that somebody else has just made is left: it is there the next time.
    private mutating func store(_ places: [Int]) async throws {
        let known = places.filter { keys[$0] != nil }
        let new = places.filter { keys[$0] == nil }.sorted { reports[$0].name < reports[$1].name }
        var statements: [Query] = []
        if !known.isEmpty { statements.append(update(known)) }
        if !new.isEmpty { statements.append(insertion(new)) }
        guard !statements.isEmpty else { return }
        let rows = try await connection.pipeline(statements)
        guard !new.isEmpty else { return }
        let made = try DeviceRows.keys(rows[rows.count - 1])
        for place in new { keys[place] = made[reports[place].name] }
    }

    /// A report is late if a later generation of one of its start tokens is stored. It may be of the time before somebody else
    /// signed in, so it changes neither the user nor the device token. That is looked up only if one of them would change.
    private func update(_ places: [Int]) -> Query {
        let requests = places.map { reports[$0].request }
        // The generations of another installation say nothing.
        let compared = places.filter { effects[$0]?.changedInstallation != true }.flatMap { place in
            reports[place].request.startTokens.map { (key: keys[place], type: $0.key, generation: $0.value.generation) }
        }
        return """
            WITH late AS MATERIALIZED (
                SELECT c.device_key FROM unnest(
                    \(compared.compactMap(\.key)), \(compared.map(\.type.rawValue)), \(compared.map(\.generation))
                ) AS c(device_key, type_name, generation)
                CROSS JOIN LATERAL (
                    SELECT FROM start_tokens AS t
                    WHERE t.device_key = c.device_key AND t.type_name = c.type_name AND t.generation > c.generation OFFSET 0
                ) AS later
            )
            UPDATE devices AS d
            SET environment = r.environment::apns_environment,
                user_id = CASE WHEN r.is_user_unsaid OR r.user_id IS NOT DISTINCT FROM d.user_id THEN d.user_id
                    WHEN d.device_key IN (SELECT device_key FROM late) THEN d.user_id ELSE r.user_id END,
                os_version = coalesce(r.os_version, d.os_version),
                app_version = coalesce(r.app_version, d.app_version),
                activities_enabled = coalesce(r.activities_enabled, d.activities_enabled),
                frequent_pushes_enabled = coalesce(r.frequent, d.frequent_pushes_enabled),
                (device_token, token_registered_at, token_rejected_at, token_contradictions) = (
                    SELECT CASE WHEN is_taken THEN r.device_token ELSE d.device_token END,
                           CASE WHEN is_taken THEN now() ELSE d.token_registered_at END,
                           CASE WHEN is_taken THEN NULL ELSE d.token_rejected_at END,
                           CASE WHEN is_taken THEN 0::int2 ELSE d.token_contradictions END
                    FROM (
                        SELECT CASE WHEN d.environment <> r.environment::apns_environment THEN true
                            WHEN r.device_token IS NULL THEN false
                            WHEN r.device_token IS NOT DISTINCT FROM d.device_token THEN true
                            ELSE d.device_key NOT IN (SELECT device_key FROM late) END AS is_taken
                        OFFSET 0
                    ) AS verdict
                ),
                \(unescaped: Installations.assignments("r.installation")),
                updated_at = now()
            FROM unnest(
                \(places.compactMap { keys[$0] }), \(requests.map(\.environment.rawValue)),
                \(requests.map { $0.user == .unsaid }), \(requests.map { $0.user.id?.rawValue }),
                \(requests.map { $0.osVersion?.description }), \(requests.map { $0.appVersion?.description }),
                \(requests.map(\.activitiesEnabled)), \(requests.map(\.frequentPushesEnabled)),
                \(requests.map { $0.deviceToken?.bytes }), \(requests.map(\.installation))
            ) AS r(device_key, environment, is_user_unsaid, user_id, os_version, app_version, activities_enabled, frequent,
                   device_token, installation)
            WHERE \(unescaped: Query.byKey("d", "r", "device_key"))
            """
    }

    private func insertion(_ places: [Int]) -> Query {
        let requests = places.map { reports[$0].request }
        return """
            INSERT INTO devices (bundle_id, device_id, environment, user_id, os_version, app_version,
                                 activities_enabled, frequent_pushes_enabled, device_token, token_registered_at,
                                 installation)
            SELECT r.bundle_id, r.device_id, r.environment::apns_environment, r.user_id, r.os_version, r.app_version,
                   coalesce(r.activities_enabled, true), coalesce(r.frequent, false), r.device_token,
                   CASE WHEN r.device_token IS NOT NULL THEN now() END, r.installation
            FROM unnest(
                \(places.map { reports[$0].app.rawValue }), \(places.map { reports[$0].id.rawValue }),
                \(requests.map(\.environment.rawValue)), \(requests.map { $0.user.id?.rawValue }),
                \(requests.map { $0.osVersion?.description }), \(requests.map { $0.appVersion?.description }),
                \(requests.map(\.activitiesEnabled)), \(requests.map(\.frequentPushesEnabled)),
                \(requests.map { $0.deviceToken?.bytes }), \(requests.map(\.installation))
            ) AS r(bundle_id, device_id, environment, user_id, os_version, app_version, activities_enabled, frequent,
                   device_token, installation)
            ON CONFLICT (bundle_id, device_id) DO NOTHING
            RETURNING bundle_id, device_id, device_key
            """
    }

    // MARK: What depends on them

    /// Carries through what a report changes besides its own rows; it is alone then.
    private func carryThrough(_ place: Int) async throws {
        guard let key = keys[place], let effect = effects[place], !effect.isNone else { return }
        let request = reports[place].request
        if effect.movedEnvironment {
            _ = try await connection.pipeline(Installations.move(deviceKey: key, to: request.environment))
        } else if effect.changedBudgetClass, let frequent = request.frequentPushesEnabled {
            _ = try await connection.execute(SubscriptionRows.change(frequent: frequent, ofDevice: key))
        }
        if effect.changedApp {
            try await AppVersionAdmission(registry: registry).readmit(key, on: connection)
        }
        if effect.changedInstallation { _ = try await connection.pipeline(Installations.restart(deviceKey: key)) }
    }

    /// Stores the topics of all devices, and ends the cards that a change of them ends. A device also ceases to follow what
    /// its former user follows, and loses the cards that it had for that alone. A card stays if the audience names the user
    /// or the device, or if the policy keeps it.
    ///
    /// - Returns: The statements that store them, if they are still to be run. A new device has no cards.
    private func storeTopics(of places: [Int]) async throws -> [Query] {
        var removed: [TopicRows.OfDevice] = []
        var added: [TopicRows.OfDevice] = []
        var changed: [TopicRows.Changed] = []
        let byUsers = try await changesByUsers(of: places)
        for place in places {
            guard let key = keys[place] else { continue }
            let app = reports[place].app
            if topicChanges[place] != nil || byUsers[place] != nil {
                let (own, user) = (topicChanges[place], byUsers[place])
                changed.append(
                    TopicRows.Changed(
                        deviceKeys: [key],
                        added: (own?.added ?? []) + (user?.added ?? []),
                        removed: (own?.removed ?? []) + (user?.removed ?? [])
                    )
                )
            }
            if let change = topicChanges[place] {
                removed.append(TopicRows.OfDevice(app: app, deviceKey: key, topics: TopicList(change.removed)))
                added.append(TopicRows.OfDevice(app: app, deviceKey: key, topics: TopicList(change.added)))
            } else if effects[place] == nil, let topics = reports[place].request.topics {
                added.append(TopicRows.OfDevice(app: app, deviceKey: key, topics: TopicList(topics)))
            }
        }
        let statements = TopicRows.statements(removed: removed, added: added)
        guard !changed.isEmpty else { return statements }
        try await TopicRows.endCards(of: changed, after: statements, activities, on: connection)
        return []
    }

    /// What devices begin and cease to follow if their reports change their users. A late report does not (``update(_:)``).
    /// Then the audiences still cover its device, so no card ends.
    ///
    /// One card may stay that should end. That is so if the next user gives up a topic at the same moment: this
    /// transaction still reads the topic, and that one does not find this device among the user's. Only a lock on each
    /// next user would prevent it.
    private func changesByUsers(of places: [Int]) async throws -> [Int: TopicRows.Changed] {
        let changed = places.filter { userChanges[$0] != nil }
        let queries = changed.flatMap { place in
            (userChanges[place]?.users ?? []).map { TopicRows.selection(of: .user($0), in: reports[place].app) }
        }
        guard !queries.isEmpty else { return [:] }
        let lists = try await connection.pipeline(queries).map { list in
            try list.decoded(as: String.self).map { Topic(stored: $0) }
        }
        var rest = lists[...]
        var changes: [Int: TopicRows.Changed] = [:]
        for place in changed {
            guard let key = keys[place], let change = userChanges[place] else { continue }
            let removed = change.former == nil ? nil : rest.popFirst()
            let added = change.next == nil ? nil : rest.popFirst()
            changes[place] = TopicRows.Changed(deviceKeys: [key], added: added ?? [], removed: removed ?? [])
        }
        return changes
    }

    /// Runs statements, and stores reported start tokens unless a later generation is known. A device keeps as many as it
    /// may report at once. Deletes the ones beyond that, those reported longest ago first.
    ///
    /// - Returns: The devices for which a later generation than the reported one is stored.
    private func storeTokens(
        of places: [Int],
        after earlier: [Query],
        isLast: Bool
    ) async throws -> Set<Int64> {
        var devices: [Int64] = []
        var tokens: [(type: String, report: StartTokenRequest)] = []
        for (key, place) in places.compactMap({ place in keys[place].map { ($0, place) } }).sorted(by: { $0.0 < $1.0 })
        {
            for (type, report) in reports[place].request.startTokens.sorted(by: { $0.key < $1.key }) {
                devices.append(key)
                tokens.append((type.rawValue, report))
            }
        }
        var statements = earlier
        if !devices.isEmpty {
            let (types, generations) = (tokens.map(\.type), tokens.map(\.report.generation))
            statements += [
                """
                INSERT INTO start_tokens (device_key, type_name, token, generation)
                SELECT report.device_key, report.type_name, report.token, coalesce(report.generation, known.generation, 0)
                FROM unnest(\(devices), \(types), \(tokens.map(\.report.token.bytes)), \(generations))
                    AS report (device_key, type_name, token, generation)
                -- The table grows fast from nothing, so it is not joined (`Query.byKey`).
                LEFT JOIN LATERAL (
                    SELECT generation FROM start_tokens AS t
                    WHERE t.device_key = report.device_key AND t.type_name = report.type_name OFFSET 0
                ) AS known ON true
                WHERE report.generation IS NULL OR known.generation IS NULL OR report.generation >= known.generation
                ON CONFLICT (device_key, type_name) DO UPDATE
                SET token = EXCLUDED.token, generation = EXCLUDED.generation, state = 'live', registered_at = now(),
                    contradictions = 0
                """,
                """
                DELETE FROM start_tokens AS t USING (
                    SELECT k.device_key, o.type_name FROM unnest(\(Set(devices).sorted())) AS k(device_key)
                    CROSS JOIN LATERAL (
                        SELECT type_name FROM start_tokens WHERE device_key = k.device_key
                        ORDER BY registered_at DESC, type_name OFFSET \(DeviceRequest.maximumStartTokens)
                    ) AS o
                ) AS beyond
                WHERE t.device_key = beyond.device_key AND t.type_name = beyond.type_name
                """,
                """
                SELECT report.device_key FROM unnest(\(devices), \(types), \(generations))
                    AS report (device_key, type_name, generation)
                JOIN start_tokens AS known
                    ON known.device_key = report.device_key AND known.type_name = report.type_name
                WHERE known.generation > report.generation
                """,
            ]
        }
        guard isLast || !statements.isEmpty else { return [] }
        let rows = try await isLast ? connection.commit(statements) : connection.pipeline(statements)
        guard !devices.isEmpty, let late = rows.last else { return [] }
        return Set(try late.decoded(as: Int64.self))
    }
}

extension DeviceRequest {
    /// Whether the report counts the generations of a token.
    fileprivate var hasGeneration: Bool { startTokens.values.contains { $0.generation != nil } }
}

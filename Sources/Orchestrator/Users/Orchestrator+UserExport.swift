import APITypes
package import ActivityModel
import Cards
import Postgres
import Record
import Registry
package import ReportTypes
import Store

extension Orchestrator {
    /// The devices of a user, their cards and starts, the topics, and the activities whose audience names any of them.
    /// Each list is cut at ``UserResource/limit``.
    ///
    /// - Throws: 404 if no device, no topic and no audience names the user.
    package func user(_ app: BundleID, _ id: UserID) async throws -> UserResource {
        try await UserExportPages(orchestrator: self, app: app, user: id).summary()
    }

    /// A page of all that is stored of a user, without tokens: at most ``UserExport/limit`` entries of all lists together.
    ///
    /// - Throws: 404 if no device, no topic and no audience names the user; 422 for a cursor of another list.
    package func exportUser(_ app: BundleID, _ id: UserID, cursor: String?) async throws -> UserExport {
        try await UserExportPages(orchestrator: self, app: app, user: id).page(cursor)
    }
}

/// Reads what is stored of a user: one list after the other, and page by page, each from the end of the page before.
struct UserExportPages: Sendable {
    let orchestrator: Orchestrator
    let app: BundleID
    let user: UserID
    var limit = UserExport.limit

    /// The lists, in the order in which they are read.
    private enum List: String, CaseIterable {
        case devices, cards, activities, starts, pushes
    }

    /// Where the next page begins.
    private struct Place {
        var list: List
        /// Nil: at the beginning of the list.
        var cursor: String?

        init(_ list: List, _ cursor: String? = nil) {
            self.list = list
            self.cursor = cursor
        }

        init(reading text: String) throws(Problem) {
            guard let values = PageCursor(text)?.columns(in: .export),
                let list = values.first.flatMap({ List(rawValue: $0) })
            else { throw PageCursor.refused }
            let rest = Array(values.dropFirst())
            self.init(list, rest.isEmpty ? nil : PageCursor(values: rest).text)
        }

        var text: String {
            PageCursor(in: .export, [list.rawValue] + (cursor.flatMap { PageCursor($0)?.values } ?? [])).text
        }

        /// After a page of the list, which has a cursor if it is not the last; nil after the last list.
        func next(_ cursor: String?) -> Place? {
            if let cursor { return Place(list, cursor) }
            let index = List.allCases.firstIndex(of: list).map { $0 + 1 } ?? List.allCases.count
            return index < List.allCases.count ? Place(List.allCases[index]) : nil
        }
    }

    func page(_ cursor: String?) async throws -> UserExport {
        var place: Place? = try cursor.map { text throws(Problem) in try Place(reading: text) } ?? Place(.devices)
        var export = try await begun()
        if cursor == nil { export.user.topics = try await topics() }
        var room = limit
        while room > 0, let now = place {
            let (count, next) = try await read(now.list, PageRequest(limit: room, cursor: now.cursor), into: &export)
            room -= count
            place = now.next(next)
        }
        // A user without devices has no cards, so the activities of the first page were read.
        if cursor == nil { try Self.check(export.user) }
        export.nextCursor = place?.text
        export.user.isTruncated = place != nil
        return export
    }

    /// The first entries of each list, without single pushes.
    func summary() async throws -> UserResource {
        var export = try await begun()
        export.user.topics = try await topics()
        for list in List.allCases where list != .pushes {
            let (_, next) = try await read(list, PageRequest(limit: UserResource.limit), into: &export)
            if next != nil { export.user.isTruncated = true }
        }
        try Self.check(export.user)
        return export.user
    }

    private func begun() async throws -> UserExport {
        UserExport(exportedAt: Instant(try await orchestrator.clock.now()), user: UserResource(userID: user))
    }

    private static func check(_ user: UserResource) throws(Problem) {
        if user.devices.isEmpty, user.topics.isEmpty, user.activities.isEmpty { throw .notFound("the user") }
    }

    /// Reads a page of a list.
    ///
    /// - Returns: How many entries the page has, and the cursor of the next one.
    private func read(
        _ list: List,
        _ request: PageRequest,
        into export: inout UserExport
    ) async throws -> (Int, String?) {
        switch list {
        case .devices: try await devices(request, &export)
        case .cards: append(try await cards(request), to: &export.user.cards)
        case .activities: append(try await activities(request), to: &export.user.activities)
        case .starts: append(try await starts(request), to: &export.user.starts)
        case .pushes: append(try await pushes(request), to: &export.pushes)
        }
    }

    /// - Returns: How many entries the page has, and the cursor of the next one.
    private func append<Item>(_ page: Page<Item>, to list: inout [Item]) -> (Int, String?) {
        list += page.items
        return (page.items.count, page.nextCursor)
    }

    // MARK: Lists

    private func topics() async throws -> [Topic] {
        let rows = try await orchestrator.database.query(TopicRows.selection(of: .user(user), in: app))
        return try rows.decoded(as: String.self).map { Topic(stored: $0) }
    }

    /// With the topics of these devices, and what was sent to them today.
    private func devices(_ request: PageRequest, _ export: inout UserExport) async throws -> (Int, String?) {
        let page = try await orchestrator.registry.devices(app, user: user, request)
        let names = page.items.map(\.deviceID.rawValue)
        let results = try await orchestrator.database.pipeline([
            .planningOnce, topics(ofDevices: names), sentToday(byDevices: names),
        ])
        export.deviceTopics += try results[1].decoded(as: (String, [String]).self).map { device, topics in
            DeviceTopics(deviceID: DeviceID(stored: device), topics: topics.map { Topic(stored: $0) })
        }
        if let (starts, pushes) = try results[2].first(as: (Int64, Int64).self) {
            export.user.sentToday.starts += Int(starts)
            export.user.sentToday.pushes += Int(pushes)
        }
        return append(page, to: &export.user.devices)
    }

    private func read(_ query: Query) async throws -> Rows {
        try await orchestrator.database.pipeline([.planningOnce, query])[1]
    }

    private func cards(_ request: PageRequest) async throws -> Page<UserCard> {
        let columns = "a.activity_id, a.type_name, a.state::text, \(Record.cardColumns)"
        return try await ofDevices("subscriptions", columns, request) { row in
            UserCard(
                activityID: ActivityID(stored: try row.decode(at: 2)),
                type: ActivityTypeName(stored: try row.decode(at: 3)),
                activityState: try .stored(row.decode(at: 4)),
                card: try Record.card(in: row, from: 5)
            )
        }
    }

    private func starts(_ request: PageRequest) async throws -> Page<UserStart> {
        let columns = "a.activity_id, d.device_id, s.state::text, s.reason, s.claimed_at"
        return try await ofDevices("starts", columns, request) { row in
            let state: StartStateMachine.State = try .stored(row.decode(at: 4))
            return UserStart(
                activityID: ActivityID(stored: try row.decode(at: 2)),
                deviceID: DeviceID(stored: try row.decode(at: 3)),
                state: UserStart.State(state),
                reason: try row.decode(at: 5),
                sentAt: try row.decode(PGTimestamp?.self, at: 6).map { Instant($0) }
            )
        }
    }

    /// The rows `s` of a table about the user's devices `d` and their activities `a`. An item's columns begin at 2.
    private func ofDevices<Item>(
        _ table: String,
        _ columns: String,
        _ request: PageRequest,
        _ item: (Row) throws -> Item
    ) async throws -> Page<Item> {
        let after = try request.position(in: .export, Int64.self, Int64.self)
        let rows = try await read(
            """
            SELECT s.activity_key, s.device_key, \(unescaped: columns)
            FROM \(devicesOf: user, in: app) AS d
            CROSS JOIN LATERAL (
                SELECT * FROM \(unescaped: table) AS o WHERE o.device_key = d.device_key OFFSET 0
            ) AS s
            JOIN activities AS a ON \(unescaped: Query.byKey("a", "s", "activity_key"))
            WHERE \(after?.0)::bigint IS NULL OR (s.activity_key, -s.device_key) < (\(after?.0), -\(after?.1)::bigint)
            ORDER BY s.activity_key DESC, s.device_key LIMIT \(Int64(request.limit + 1))
            """
        )
        let found = try rows.map { row in
            Keyed(
                key: [String(try row.decode(Int64.self, at: 0)), String(try row.decode(Int64.self, at: 1))],
                item: try item(row)
            )
        }
        return .cut(found, of: .export, limit: request.limit, item: \.item, place: \.key)
    }

    private func activities(_ request: PageRequest) async throws -> Page<UserActivity> {
        let before = try request.position(in: .export, Int64.self)
        let rows = try await read(
            """
            SELECT a.activity_key, a.activity_id, a.type_name, a.state::text
            FROM (
                SELECT activity_key FROM audience_members
                WHERE bundle_id = \(app.rawValue) AND kind = 'user' AND member_id = \(user.rawValue)
                UNION
                SELECT m.activity_key FROM \(devicesOf: user, in: app) AS d
                CROSS JOIN LATERAL (
                    SELECT activity_key FROM audience_members
                    WHERE bundle_id = \(app.rawValue) AND kind = 'device' AND member_id = d.device_id OFFSET 0
                ) AS m
                UNION
                SELECT m.activity_key FROM (
                    SELECT topic FROM topic_follows
                    WHERE bundle_id = \(app.rawValue) AND user_id >= \(user.rawValue) AND user_id <= \(user.rawValue)
                    ORDER BY user_id, topic OFFSET 0
                ) AS f
                JOIN audience_topics AS m ON m.bundle_id = \(app.rawValue) AND m.topic = ANY(ARRAY[f.topic])
            ) AS m JOIN activities AS a USING (activity_key)
            WHERE \(before)::bigint IS NULL OR a.activity_key < \(before)
            ORDER BY a.activity_key DESC LIMIT \(Int64(request.limit + 1))
            """
        )
        let found = try rows.decoded(as: (Int64, String, String, String).self).map { key, id, type, state in
            Keyed(
                key: [String(key)],
                item: UserActivity(
                    activityID: ActivityID(stored: id),
                    type: ActivityTypeName(stored: type),
                    state: try .stored(state)
                )
            )
        }
        return .cut(found, of: .export, limit: request.limit, item: \.item, place: \.key)
    }

    private func pushes(_ request: PageRequest) async throws -> Page<RecordedPush> {
        let before = try request.position(in: .export, PGTimestamp.self, Int64.self)
        let rows = try await read(
            """
            SELECT t.at, t.entry_id, d.device_id, a.activity_id, t.event, t.revision, t.status, t.reason
            FROM \(devicesOf: user, in: app) AS d
            CROSS JOIN LATERAL (SELECT * FROM timeline WHERE timeline.device_key = d.device_key OFFSET 0) AS t
            LEFT JOIN LATERAL (
                SELECT activity_id FROM activities WHERE activities.activity_key = t.activity_key OFFSET 0
            ) AS a ON true
            WHERE \(before?.0)::timestamptz IS NULL OR (t.at, t.entry_id) < (\(before?.0), \(before?.1)::bigint)
            ORDER BY t.at DESC, t.entry_id DESC LIMIT \(Int64(request.limit + 1))
            """
        )
        let found = try rows.map { row in
            let at: PGTimestamp = try row.decode(at: 0)
            return Keyed(
                key: [String(at.microseconds), String(try row.decode(Int64.self, at: 1))],
                item: RecordedPush(
                    at: Instant(at),
                    deviceID: DeviceID(stored: try row.decode(at: 2)),
                    activityID: try row.decode(String?.self, at: 3).map { ActivityID(stored: $0) },
                    event: try row.decode(at: 4),
                    revision: try row.decode(at: 5),
                    status: try row.decode(Int16?.self, at: 6).map { Int($0) },
                    reason: try row.decode(at: 7)
                )
            )
        }
        return .cut(found, of: .export, limit: request.limit, item: \.item, place: \.key)
    }

    /// An entry, and its place in the list.
    private struct Keyed<Item> {
        let key: [String]
        let item: Item
    }

    private func topics(ofDevices names: [String]) -> Query {
        """
        SELECT d.device_id, f.topics FROM unnest(\(names)) AS n(device_id)
        CROSS JOIN LATERAL (
            SELECT device_key, device_id FROM devices
            WHERE bundle_id = \(app.rawValue) AND device_id = n.device_id OFFSET 0
        ) AS d
        CROSS JOIN LATERAL (
            SELECT array_agg(topic ORDER BY topic) AS topics FROM topic_follows
            WHERE topic_follows.device_key = d.device_key OFFSET 0
        ) AS f
        WHERE f.topics IS NOT NULL
        """
    }

    private func sentToday(byDevices names: [String]) -> Query {
        """
        SELECT coalesce(sum(started.count), 0)::int8, coalesce(sum(pushed.count), 0)::int8
        FROM unnest(\(names)) AS n(device_id)
        CROSS JOIN LATERAL (
            SELECT device_key FROM devices
            WHERE bundle_id = \(app.rawValue) AND device_id = n.device_id OFFSET 0
        ) AS d
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(spent.count), 0)::int8 AS count FROM (
                \(part: StartRows.spent(by: "d.device_key", within: .seconds(86_400)))
            ) AS spent OFFSET 0
        ) AS started
        CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM timeline
            WHERE timeline.device_key = d.device_key AND at > clock_timestamp() - interval '1 day'
              AND kind = 'push' OFFSET 0
        ) AS pushed
        """
    }
}

extension Query.StringInterpolation {
    /// Inserts a table of the keys and ids of a user's devices.
    fileprivate mutating func appendInterpolation(devicesOf user: UserID, in app: BundleID) {
        appendLiteral("(SELECT device_key, device_id FROM devices WHERE bundle_id = ")
        appendInterpolation(app.rawValue)
        appendLiteral(" AND user_id = ")
        appendInterpolation(user.rawValue)
        appendLiteral(" OFFSET 0)")
    }
}

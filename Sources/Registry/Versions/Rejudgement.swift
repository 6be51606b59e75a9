import ActivityModel
import Logging
import Postgres
import Store

/// Judges the newest states of running activities again when apps decode another version than before. That is when a
/// version was registered or retired, or other apps understand it.
///
/// The transaction that changes the type only notes it. Changes are judged by the new versions from then on. The pages
/// follow, each in a transaction of its own, so nobody waits for the number of activities. The place is in the
/// database, so if a daemon dies, any other one resumes.
struct Rejudgement: Sendable {
    let registry: Registry
    let type: RegistryCaches.TypeKey

    /// The statement that notes it. It belongs to the transaction that changes the type.
    static func note(_ app: BundleID, _ name: ActivityTypeName) -> Query {
        """
        INSERT INTO rejudgements (bundle_id, type_name) VALUES (\(app.rawValue), \(name.rawValue))
        ON CONFLICT (bundle_id, type_name) DO UPDATE SET after_id = ''
        """
    }

    /// Resumes the rejudgements that daemons have noted and not finished. If one type fails, the others still run.
    static func goOn(_ registry: Registry) async throws {
        let rows = try await registry.database.query("SELECT bundle_id, type_name FROM rejudgements")
        for (app, name) in try rows.decoded(as: (String, String).self) {
            let type = RegistryCaches.TypeKey(app: BundleID(stored: app), name: ActivityTypeName(stored: name))
            do {
                try await Rejudgement(registry: registry, type: type).run()
            } catch {
                let metadata: Logger.Metadata = ["app": "\(app)", "type": "\(name)"]
                registry.store.logger.failed("cannot judge the activities of a type", error, metadata)
            }
        }
    }

    /// Returns when all activities of the type are judged, if that was noted.
    func run() async throws {
        while try await registry.withCurrentType({ try await page() }) {}
        registry.wake()
    }

    /// Judges one page.
    ///
    /// - Returns: Whether there is more.
    /// - Throws: ``OutdatedType``; try again then.
    private func page() async throws -> Bool {
        try await registry.database.withYieldingTransaction { connection in
            guard let (context, after) = try await hold(on: connection) else { return false }
            let page = try await FollowerPage.read(type, after: after) { try await connection.query($0) }
            let judged = try await page.judged(by: context) { try await connection.query($0) }
            let changed = try await unchangedSince(judged, on: connection)
            _ = try await connection.pipeline(statements(changed, context) + [isThrough(page.last)])
            return page.last != nil
        }
    }

    /// The type, locked until the transaction ends, and the activity id to resume after. Daemons take turns.
    private func hold(on connection: PostgresConnection) async throws -> (TypeContext, after: String)? {
        let context = try await registry.typeContext(type.app, type.name) { try await connection.query($0) }
        let rows = try await connection.pipeline([
            TypeVersionRows.hold([context]),
            """
            SELECT after_id FROM rejudgements
            WHERE bundle_id = \(type.app.rawValue) AND type_name = \(type.name.rawValue) FOR UPDATE
            """,
        ])
        try context.check(TypeVersionRows.updates(rows[0]))
        return try rows[1].single(String.self).map { (context, $0) }
    }

    /// Locks the activities of these rows. A change that was accepted meanwhile has judged its own state by the same
    /// versions, so its activity is left out.
    private func unchangedSince(
        _ judged: [AppVersionRows.New],
        on connection: PostgresConnection
    ) async throws -> [AppVersionRows.New] {
        guard !judged.isEmpty else { return [] }
        let keys = Array(Set(judged.map(\.activityKey)))
        let rows = try await connection.query(
            """
            SELECT activity_key, revision FROM activities
            WHERE activity_key = ANY(\(keys)) ORDER BY activity_key FOR NO KEY UPDATE
            """
        )
        let revisions = Dictionary(uniqueKeysWithValues: try rows.decoded(as: (Int64, Int64).self).map { ($0, $1) })
        return judged.filter { revisions[$0.activityKey] == $0.revision }
    }

    private func statements(_ changed: [AppVersionRows.New], _ context: TypeContext) -> [Query] {
        guard !changed.isEmpty else { return [] }
        let events = changed.filter(\.isWithheld).map { row in
            Event.incompatibleVersion(
                row.appVersion,
                context.version(ofStored: row.appVersion),
                activityKey: row.activityKey,
                revision: row.revision
            )
        }
        return [AppVersionRows.change(changed)] + (events.isEmpty ? [] : [EventRows.insertion(events)])
            + [SegmentRows.announce(activityKeys: Array(Set(changed.map(\.activityKey))).sorted())]
    }

    /// The statement that says how far it has come; nil: to the end.
    private func isThrough(_ last: String?) -> Query {
        guard let last else {
            return """
                DELETE FROM rejudgements WHERE bundle_id = \(type.app.rawValue) AND type_name = \(type.name.rawValue)
                """
        }
        return """
            UPDATE rejudgements SET after_id = \(last)
            WHERE bundle_id = \(type.app.rawValue) AND type_name = \(type.name.rawValue)
            """
    }
}

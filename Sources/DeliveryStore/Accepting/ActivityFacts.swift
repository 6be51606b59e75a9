import APITypes
package import ActivityModel
package import Postgres
import Store

/// The facts of an activity that do not change between its acceptance and its deletion.
///
/// A class, because every change reads one and many functions pass it on.
package final class ActivityFacts: Sendable {
    /// The ids by which callers know it.
    package struct Name: Hashable, Sendable {
        package let app: BundleID
        package let id: ActivityID

        package init(app: BundleID, id: ActivityID) {
            self.app = app
            self.id = id
        }
    }

    package let key: Int64
    package let typeName: ActivityTypeName
    package let environment: APNSEnvironment
    package let delivery: Delivery
    package let attributes: CompactJSON
    /// The alert that its start brought. One that comes with an audience later takes its place (``StandingRow``).
    package let startAlert: AlertContent?
    /// Whether it ended so long ago that no phone shows it any more. Tally may delete it, and a caller may reuse its id,
    /// before the next look-up of these facts.
    package let isPast: Bool

    /// The facts of an activity that has just been started.
    package init(
        started key: Int64,
        typeName: ActivityTypeName,
        environment: APNSEnvironment,
        delivery: Delivery,
        attributes: CompactJSON,
        startAlert: AlertContent?
    ) {
        self.key = key
        self.typeName = typeName
        self.environment = environment
        self.delivery = delivery
        self.attributes = attributes
        self.startAlert = startAlert
        isPast = false
    }

    /// Reads the facts of the activities that exist, in one statement.
    package static func read(_ names: [Name], from database: Database) async throws -> [Name: ActivityFacts] {
        let selection = selection(Array(Set(names)))
        guard let rows = try await database.pipeline([.planningOnce, selection]).last else { return [:] }
        var facts: [Name: ActivityFacts] = [:]
        for row in rows {
            let name = Name(
                app: BundleID(stored: try row["bundle_id"]),
                id: ActivityID(stored: try row["activity_id"])
            )
            facts[name] = try ActivityFacts(row)
        }
        return facts
    }

    private static func selection(_ names: [Name]) -> Query {
        """
        SELECT a.bundle_id, a.activity_id, a.activity_key, a.type_name, a.environment::text, a.delivery::text,
               a.attributes::text, c.alert::text,
               \(unescaped: CardLife.isPast("a")) AS is_past
        FROM unnest(\(names.map(\.app.rawValue)), \(names.map(\.id.rawValue))) AS n(bundle_id, activity_id)
        JOIN activities AS a USING (bundle_id, activity_id)
        JOIN changes AS c ON c.activity_key = a.activity_key AND c.revision = 1
        """
    }

    /// Reads a row of ``selection(_:)``.
    private init(_ row: Row) throws {
        key = try row["activity_key"]
        typeName = ActivityTypeName(stored: try row["type_name"])
        environment = try .stored(row["environment"])
        delivery = try .stored(row["delivery"])
        let attributes: String = try row["attributes"]
        self.attributes = CompactJSON(stored: Array(attributes.utf8))
        let alert: String? = try row["alert"]
        startAlert = try alert.map(AlertContent.stored)
        isPast = try row["is_past"]
    }
}

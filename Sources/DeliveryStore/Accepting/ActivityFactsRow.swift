import APITypes
package import ActivityModel
package import Postgres
import Store

/// The facts of an activity that do not change between its acceptance and its deletion, and whether it is past.
package struct ActivityFactsRow {
    package let app: BundleID
    package let id: ActivityID
    package let key: Int64
    package let typeName: ActivityTypeName
    package let environment: APNSEnvironment
    package let delivery: Delivery
    package let attributes: CompactJSON
    /// The alert that its start brought.
    package let startAlert: AlertContent?
    /// Whether it ended so long ago that no phone shows it any more.
    package let isPast: Bool

    /// The statement whose rows these are; an activity that does not exist has none. Run it after
    /// ``Query/planningOnce``.
    package static func selection(_ names: [(app: BundleID, id: ActivityID)]) -> Query {
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
    package init(_ row: Row) throws {
        app = BundleID(stored: try row["bundle_id"])
        id = ActivityID(stored: try row["activity_id"])
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

import APITypes
import ActivityModel
import JSON
import Postgres

/// What never changes of an activity once it has been accepted.
struct ActivityFacts: Sendable {
    /// The ids by which callers know it.
    struct Name: Hashable, Sendable {
        let app: BundleID
        let id: ActivityID
    }

    let key: Int64
    let typeName: ActivityTypeName
    let environment: APNSEnvironment
    let delivery: Delivery
    let attributes: CompactJSON
    /// The alert of its start; nil if nobody is started by push.
    let startAlert: AlertContent?
}

extension Orchestrator {
    /// The facts of an activity.
    ///
    /// - Throws: 404 if there is none.
    func facts(_ app: BundleID, _ id: ActivityID) async throws -> ActivityFacts {
        let name = ActivityFacts.Name(app: app, id: id)
        if case .fresh(let facts) = facts.lookUp(name) { return facts }
        let rows = try await database.query(
            """
            SELECT a.activity_key, a.type_name, a.environment::text, a.delivery::text, a.attributes::text, c.alert::text
            FROM activities AS a JOIN changes AS c ON c.activity_key = a.activity_key AND c.revision = 1
            WHERE a.bundle_id = \(app.rawValue) AND a.activity_id = \(id.rawValue)
            """
        )
        guard
            let (key, type, environment, delivery, attributes, alert) = try rows.first(
                as: (Int64, String, String, String, String, String?).self
            )
        else { throw Problem.notFound("the activity") }
        let facts = ActivityFacts(
            key: key,
            typeName: ActivityTypeName(stored: type),
            environment: try .stored(environment),
            delivery: try .stored(delivery),
            attributes: CompactJSON(stored: Array(attributes.utf8)),
            startAlert: try alert.map { try AlertContent(json: JSONValue(parsing: $0)) }
        )
        self.facts.store(facts, for: name)
        return facts
    }
}

package import APITypes
package import ActivityModel
import Postgres
import Store

extension Registry {
    /// The topics of an app in the order of their names, with the number of their followers (``TopicCounter``).
    ///
    /// A page of the list ends early if its topics have very many followers.
    ///
    /// - Throws: 404 for an unknown app; 422 for a cursor of another list.
    package func topics(_ app: BundleID, _ page: PageRequest) async throws -> Page<TopicResource> {
        let after = try page.position(in: .topics, Topic.self)?.rawValue ?? ""
        try await store.requireApp(app)
        let names = try await database.query(Self.names(of: app, after: after, limit: page.limit + 1))
        let topics = try names.decoded(as: String.self).map { Topic(stored: $0) }
        let counts = try await topicCounter.counts(of: Array(topics.prefix(page.limit)), in: app)
        var items: [TopicResource] = []
        for topic in topics.prefix(page.limit) {
            guard let count = counts[topic] else { break }
            items.append(TopicResource(topic: topic, users: count.users, devices: count.devices))
        }
        let isLast = items.count == topics.count
        let next = isLast ? nil : items.last.map { PageCursor(in: .topics, [$0.topic.rawValue]).text }
        return Page(items: items, nextCursor: next)
    }

    /// Goes from one topic to the next in the index, whatever number of followers each has.
    private static func names(of app: BundleID, after topic: String, limit: Int) -> Query {
        """
        WITH RECURSIVE step(topic) AS (
            (SELECT topic FROM topic_follows WHERE bundle_id = \(app.rawValue) AND topic > \(topic)
             ORDER BY topic LIMIT 1)
            UNION ALL
            SELECT (
                SELECT f.topic FROM topic_follows AS f WHERE f.bundle_id = \(app.rawValue) AND f.topic > step.topic
                ORDER BY f.topic LIMIT 1
            ) FROM step WHERE step.topic IS NOT NULL
        )
        SELECT topic FROM step WHERE topic IS NOT NULL LIMIT \(limit)
        """
    }
}

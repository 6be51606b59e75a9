package import APITypes
package import ActivityModel
import Postgres
import Store

extension Registry {
    /// The topics of an app in the order of their names, with the number of their followers.
    ///
    /// Followers are counted page by page, without a lock. A page of the list ends early if it has counted
    /// ``followersCounted``.
    ///
    /// - Throws: 404 for an unknown app; 422 for a cursor of another list.
    package func topics(_ app: BundleID, _ page: PageRequest) async throws -> Page<TopicResource> {
        let after = try page.position(Topic.self)?.rawValue ?? ""
        try await store.requireApp(app)
        let names = try await database.query(Self.names(of: app, after: after, limit: page.limit + 1))
        var items: [TopicResource] = []
        var counted = 0
        let topics = try names.decoded(as: String.self)
        for topic in topics.prefix(page.limit) {
            let item = try await resource(app, Topic(stored: topic))
            items.append(item)
            counted += item.users + item.devices
            if counted >= Self.followersCounted { break }
        }
        let isLast = items.count == topics.count
        let next = isLast ? nil : items.last.map { PageCursor(values: [$0.topic.rawValue]).text }
        return Page(items: items, nextCursor: next)
    }

    private static let followersCounted = 2_000_000

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

    private func resource(_ app: BundleID, _ topic: Topic) async throws -> TopicResource {
        var item = TopicResource(topic: topic, users: 0, devices: 0)
        let size = 10 * settings.stretchSize
        var after: Int64? = 0
        while let place = after {
            let rows = try await database.query(
                """
                SELECT CASE count(*) WHEN \(size) THEN max(follow_key) END, count(user_id), count(device_key) FROM (
                    SELECT follow_key, user_id, device_key FROM topic_follows
                    WHERE bundle_id = \(app.rawValue) AND topic = \(topic.rawValue) AND follow_key > \(place)
                    ORDER BY bundle_id, topic, follow_key LIMIT \(size)
                ) AS page
                """
            )
            guard let (next, users, devices) = try rows.first(as: (Int64?, Int64, Int64).self) else { break }
            item.users += Int(users)
            item.devices += Int(devices)
            after = next
        }
        return item
    }
}

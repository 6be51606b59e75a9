/// SQL about who follows topics.
///
/// Each look-up asks for the first entry of an index in its order. A plan that was made while the table was empty would
/// otherwise read all followers of a topic to find one.
package enum TopicFollowing {
    /// The condition that a device or its user follows a topic. The arguments are SQL expressions; `device` is a key of
    /// `devices`.
    package static func follows(_ topic: String, device: String, user: String, of app: String) -> String {
        "(\(deviceFollows(topic, device: device)) OR \(userFollows(topic, user: user, of: app)))"
    }

    /// The condition that a device follows a topic, whatever its user follows.
    package static func deviceFollows(_ topic: String, device: String) -> String {
        """
        coalesce((SELECT f.topic FROM topic_follows AS f
                  WHERE f.device_key <= \(device) AND (f.device_key, f.topic) >= (\(device), \(topic))
                  ORDER BY f.device_key, f.topic LIMIT 1) = \(topic), false)
        """
    }

    private static func userFollows(_ topic: String, user: String, of app: String) -> String {
        """
        coalesce((SELECT f.topic FROM topic_follows AS f
                  WHERE f.bundle_id = \(app) AND f.user_id <= \(user) AND (f.user_id, f.topic) >= (\(user), \(topic))
                  ORDER BY f.user_id, f.topic LIMIT 1) = \(topic), false)
        """
    }

    /// The condition that nothing keeps a device out that follows a topic of the audience: `all` and `except` are
    /// arrays of topics.
    package static func isWithin(all: String, except: String, device: String, user: String, of app: String) -> String {
        """
        ((cardinality(\(all)) = 0 OR NOT EXISTS (
             SELECT FROM unnest(\(all)) AS n(topic) WHERE NOT \(follows("n.topic", device: device, user: user, of: app))))
         AND (cardinality(\(except)) = 0 OR NOT EXISTS (
             SELECT FROM unnest(\(except)) AS n(topic) WHERE \(follows("n.topic", device: device, user: user, of: app)))))
        """
    }

    /// The condition that the audience of an activity has topics: phones join and leave it by what they follow.
    package static func isAsked(by activityKey: String) -> String {
        "EXISTS (SELECT FROM audience_topics AS m WHERE m.activity_key = \(activityKey) OFFSET 0)"
    }

    /// The condition that a row `rule` of `audience_topics` covers a device of the activity `a`.
    package static func covers(_ rule: String, device: String, user: String) -> String {
        """
        (\(follows("\(rule).topic", device: device, user: user, of: "a.bundle_id"))
         AND \(isWithin(all: "\(rule).topics_all", except: "\(rule).except_topics", device: device, user: user, of: "a.bundle_id")))
        """
    }

    /// The condition that a topic of the audience of the activity `a` covers a device.
    package static func isCovered(device: String, user: String) -> String {
        """
        EXISTS (SELECT FROM audience_topics AS m
                WHERE m.activity_key = a.activity_key AND \(covers("m", device: device, user: user)) OFFSET 0)
        """
    }
}

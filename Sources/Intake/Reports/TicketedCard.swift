import ActivityModel
import Postgres
import Registry
import Store

/// Whether a ticket that names no activities is good for a report. Its device or its user is in the audience, by name or
/// by a topic, or the device has a card of the activity or was to be started.
///
/// The audience is forgotten at the end; a phone that was offline until then may report its card all the same, if the
/// start named it or its user.
enum TicketedCard {
    /// The statement that gives the places of those for which the tickets are good, each by its own key.
    static func admission(of reports: [CardReport], at places: [Int]) -> Query {
        let tickets = places.map { reports[$0].card.ticket }
        return """
            SELECT r.place
            FROM unnest(
                \(places.map(Int64.init)), \(places.map { reports[$0].facts.key }), \(tickets.map { $0?.device.rawValue }),
                \(tickets.map { $0?.user?.rawValue })
            ) AS r(place, activity_key, device_id, user_id)
            JOIN activities AS a ON a.activity_key = r.activity_key
            WHERE a.audience_all
               OR \(unescaped: AudienceCoverage.names("device", "r.device_id"))
               OR \(unescaped: AudienceCoverage.names("user", "r.user_id"))
               OR \(unescaped: TopicFollowing.isCovered(device: deviceKey, user: "r.user_id"))
               OR EXISTS (SELECT FROM devices AS d
                          WHERE d.bundle_id = a.bundle_id AND d.device_id = r.device_id AND (
                            EXISTS (SELECT FROM subscriptions AS s
                                    WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key OFFSET 0)
                            OR EXISTS (SELECT FROM starts AS s
                                       WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key OFFSET 0))
                          OFFSET 0)
               OR CASE WHEN a.state = 'ended' THEN
                   coalesce((a.start_body #> '{audience,devices}')::jsonb ? r.device_id, false)
                   OR coalesce((a.start_body #> '{audience,users}')::jsonb ? r.user_id, false)
               END
            """
    }

    /// Null for a device that is not registered.
    private static let deviceKey = """
        (SELECT k.device_key FROM devices AS k WHERE k.bundle_id = a.bundle_id AND k.device_id = r.device_id)
        """
}

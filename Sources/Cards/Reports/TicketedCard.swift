package import ActivityModel
package import Postgres
import Store

/// A reported card whose report came with a ticket that names no activities.
///
/// The ticket is good for the report if its device or its user is in the audience, by name or by a topic. It is also
/// good if the device has a card or a start of the activity.
///
/// The audience is forgotten at the end; a phone that was offline until then may report its card all the same, if the
/// start named it or its user.
package struct TicketedCard: Sendable {
    /// The place of the report among all of its transaction.
    package let place: Int
    let activityKey: Int64
    /// The device and the user of the ticket.
    let device: DeviceID
    let user: UserID?

    package init(place: Int, activityKey: Int64, device: DeviceID, user: UserID?) {
        self.place = place
        self.activityKey = activityKey
        self.device = device
        self.user = user
    }

    /// The places of the cards for which the tickets are good, in the rows of ``admission(of:)``.
    package static func admitted(_ rows: Rows) throws -> Set<Int> {
        Set(try rows.decoded(as: Int64.self).map(Int.init))
    }

    /// The statement that finds the cards for which the tickets are good, each by its own key, for ``admitted(_:)``.
    package static func admission(of cards: [TicketedCard]) -> Query {
        """
        SELECT r.place
        FROM unnest(
            \(cards.map { Int64($0.place) }), \(cards.map(\.activityKey)), \(cards.map(\.device.rawValue)),
            \(cards.map { $0.user?.rawValue })
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
               coalesce(\(unescaped: StartAudience.named("devices", in: "a.start_body")) ? r.device_id, false)
               OR coalesce(\(unescaped: StartAudience.named("users", in: "a.start_body")) ? r.user_id, false)
           END
        """
    }

    /// Null for a device that is not registered.
    private static let deviceKey = """
        (SELECT k.device_key FROM devices AS k WHERE k.bundle_id = a.bundle_id AND k.device_id = r.device_id)
        """
}

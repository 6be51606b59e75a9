package import ActivityModel
package import Postgres
import Store

extension ChannelRows {
    /// The statement for a channel that has broadcast the end: it is deleted when the `grace` is over. Phones that may
    /// still come get the end first (``LateStarts``).
    package static func deletion(of id: ChannelID, after grace: Duration) -> Query {
        """
        UPDATE channels
        SET delete_at = clock_timestamp() + \(grace)
        WHERE channel_id = \(id.rawValue)::uuid AND delete_at IS NULL AND starts_until IS NULL
        """
    }

    /// The statement for an activity that no phone can show any more: its channel is deleted now.
    package static func deletion(ofPast activityKey: Int64) -> Query {
        """
        UPDATE channels AS c SET delete_at = clock_timestamp()
        WHERE activity_key = \(activityKey) AND \(unescaped: ChannelStanding.isReady("c")) AND delete_at IS NULL
        """
    }
}

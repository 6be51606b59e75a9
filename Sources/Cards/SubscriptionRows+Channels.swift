import Store

// Cards whose channel is lost.
extension SubscriptionRows {
    /// The part of a statement that ends cards, because their channel is lost. `held` names the common table expression
    /// with the keys of these cards, which are locked.
    package static func overOnLostChannel(_ held: String) -> String {
        """
        UPDATE subscriptions AS s
        SET state = 'over', due_at = NULL, check_at = NULL, known_revision = \(SegmentRows.sentToCard),
            reason = '\(OverReason.channelLost.rawValue)'
        FROM \(held) WHERE s.activity_key = \(held).activity_key AND s.device_key = \(held).device_key
        """
    }
}

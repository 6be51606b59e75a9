import APITypes
import ActivityModel
import JSON

extension Event.Kind {
    /// A channel is gone at Apple although nobody had deleted it.
    static let channelLost = Event.Kind("channel_lost")
    /// Apple has channels that we have no record of, and has had them for a minute; said once of each.
    static let channelUnknown = Event.Kind("channel_unknown")
    /// An unknown channel, or one of ours that had come back, was deleted.
    static let channelReclaimed = Event.Kind("channel_reclaimed")
    /// Few channels are left of those that Apple gives an app.
    static let channelQuotaLow = Event.Kind("channel_quota_low")
    /// Apple refused to make the channel of an activity; said once for each reason in a row.
    static let channelRefused = Event.Kind("channel_refused")
}

extension Event {
    static func channelLost(
        _ id: ChannelID,
        of subject: Subject,
        subscribers: Int,
        isReplaced: Bool,
        reason: String
    ) -> Event {
        Event(
            .channelLost,
            of: subject,
            [
                "channel_id": .string(id.rawValue), "subscribers": .number(JSONNumber(subscribers)),
                "replaced": .bool(isReplaced), "reason": .string(reason),
            ]
        )
    }

    /// Names the first of them.
    static func channelsUnknown(_ ids: [String], of subject: Subject) -> Event {
        Event(
            .channelUnknown,
            of: subject,
            [
                "count": .number(JSONNumber(ids.count)),
                "apns_channel_ids": .array(ids.prefix(20).map { .string($0) }),
            ]
        )
    }

    static func channelReclaimed(_ id: APNSChannelID, of subject: Subject) -> Event {
        Event(.channelReclaimed, of: subject, ["apns_channel_id": .string(id.rawValue)])
    }

    static func channelRefused(_ id: ChannelID, of subject: Subject, reason: String) -> Event {
        Event(.channelRefused, of: subject, ["channel_id": .string(id.rawValue), "reason": .string(reason)])
    }

    static func channelQuotaLow(atApple count: Int, of subject: Subject) -> Event {
        Event(
            .channelQuotaLow,
            of: subject,
            ["at_apple": .number(JSONNumber(count)), "quota": .number(JSONNumber(ChannelReport.quota))]
        )
    }

    /// Whether so many channels are so near to Apple's limit that an operator should know.
    static func isQuotaLow(_ count: Int) -> Bool { count >= ChannelReport.quota / 10 * 9 }
}

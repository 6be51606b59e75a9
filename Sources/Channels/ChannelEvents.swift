import APITypes
import ActivityModel
import JSON
import Store

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

    /// Whether this number of channels is close enough to Apple's limit that an operator should know.
    static func isQuotaLow(_ count: Int) -> Bool { count >= ChannelReport.quota / 10 * 9 }
}

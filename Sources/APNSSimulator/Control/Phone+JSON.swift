import APITypes
import ActivityModel
import JSON

extension Phone {
    /// The phone and what it shows, without the received pushes.
    func summary(at now: ClockReading, reports: ReportQueue?) -> JSONValue {
        var fields = ObjectWriter()
        fields.add("id", profile.id.rawValue)
        fields.add("environment", profile.environment.rawValue)
        fields.add("bundle_id", profile.bundleID.rawValue)
        fields.add("os_version", profile.osVersion.description)
        fields.add("app_version", profile.appVersion?.description)
        fields.add("types", words: profile.types.map(\.rawValue))
        fields.add("follows", words: profile.follows.map(\.rawValue))
        fields.add("force_quit", isForceQuit)
        fields.add("offline", isOffline)
        fields.add("start_tokens", .object(JSONObject(startTokens.map { ($0.rawValue, .string($1)) })))
        fields.add("device_token", deviceToken)
        fields.add("activities", .array(cards.map { $0.json(at: now.milliseconds, limits: limits) }))
        fields.add("second_cards", secondCards)
        fields.add("received", received.count)
        fields.add("ignored", received.count { if case .ignored = $0.verdict { true } else { false } })
        var reporting = ObjectWriter()
        reporting.add("accepted", reports?.accepted ?? 0)
        reporting.add("pending", reports?.pendingCount ?? 0)
        reporting.add("last_error", reports?.lastError)
        fields.add("reports", reporting.json)
        return fields.json
    }

    /// The same with every received push in order of arrival.
    func story(at now: ClockReading, reports: ReportQueue?) -> JSONValue {
        var object = summary(at: now, reports: reports).object ?? JSONObject()
        object["pushes"] = .array(received.map { $0.json(cards: cards) })
        return .object(object)
    }
}

extension PhoneCard {
    fileprivate func json(at milliseconds: Int64, limits: PhoneLimits) -> JSONValue {
        var fields = ObjectWriter()
        fields.add("card", number)
        fields.add("activity_id", activityID?.rawValue)
        fields.add("activitykit_id", activityKitID)
        fields.add("type", typeName.rawValue)
        fields.add("state", state(at: milliseconds, limits: limits).rawValue)
        fields.add("started_by", startedByPush ? "push" : "app")
        switch link {
        case .awaitingToken: break
        case .token(let token): fields.add("update_token", token)
        case .channel(let id): fields.add("channel_id", id)
        }
        fields.add("timestamp", newestTimestamp)
        fields.add("stale_date", staleDate)
        fields.add("content_state", contentState)
        return fields.json
    }
}

extension ReceivedPush {
    fileprivate func json(cards: [PhoneCard]) -> JSONValue {
        var fields = ObjectWriter()
        fields.add("sequence", Int64(clamping: sequence))
        fields.add("received_at_ms", at.milliseconds)
        fields.add("uptime_ns", at.uptimeNanoseconds)
        fields.add("event", body.event?.rawValue)
        fields.add("priority", priority)
        fields.add("timestamp", body.timestamp)
        fields.add("card", card)
        fields.add("activity_id", card.flatMap { cards[$0].activityID }?.rawValue)
        fields.add("content_state", body.contentState)
        fields.add("has_alert", body.hasAlert)
        fields.add("verdict", verdict.word)
        if case .ignored(let reason) = verdict {
            fields.add("why", reason.rawValue)
        }
        fields.add("detail", detail)
        return fields.json
    }
}

extension PushVerdict {
    /// The result's name in the control API.
    package var word: String {
        switch self {
        case .started: "started"
        case .secondCard: "second_card"
        case .shown: "shown"
        case .ended: "ended"
        case .delivered: "delivered"
        case .ignored: "ignored"
        }
    }
}

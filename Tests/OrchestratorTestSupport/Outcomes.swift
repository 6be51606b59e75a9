package import APNSTransport

extension PushOutcome {
    package static let unavailable = PushOutcome(.retry, status: 503, reason: "ServiceUnavailable")
    package static let tooMany = PushOutcome(.retry, status: 429, reason: "TooManyRequests")
    package static let badToken = PushOutcome(.tokenRejected, status: 400, reason: "BadDeviceToken")
    package static let channelNotRegistered = PushOutcome(.channelGone, status: 400, reason: "ChannelNotRegistered")
    package static let badBody = PushOutcome(.requestInvalid, status: 400, reason: "PayloadEmpty")
    package static let noAnswer = PushOutcome(.unknown)
    package static let notSent = PushOutcome(.notSent)
    package static let badKey = PushOutcome(.credential, status: 403, reason: "InvalidProviderToken")

    package static func unregistered(at milliseconds: Int64?) -> PushOutcome {
        PushOutcome(.tokenDead(at: milliseconds), status: 410, reason: "Unregistered")
    }
}

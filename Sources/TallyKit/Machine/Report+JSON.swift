package import Foundation

extension Report {
    /// The method of HTTP.
    package var method: String { subject == .receipts ? "POST" : "PUT" }

    /// The path after `/v1/apps/{app}`.
    package var path: String {
        switch subject {
        case .phone, .topics: "devices/\(deviceID)"
        case .receipts: "devices/\(deviceID)/receipts"
        case .activity(let activity): "activities/\(activity)/subscriptions/\(deviceID)"
        }
    }

    /// The body as JSON, without what is not known.
    ///
    /// - Throws: Never in practice: all of it is text and numbers.
    package func body() throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return switch news {
        case .phone(let facts, _): try encoder.encode(DeviceBody(facts, of: self))
        case .topics(let topics): try encoder.encode(DeviceBody(following: topics, facts, of: self))
        case .card(let card): try encoder.encode(CardBody(card, of: self))
        case .receipts(let receipts): try encoder.encode(ReceiptsBody(receipts))
        }
    }
}

/// The body of `PUT …/devices/{id}`. What it leaves out stays as it is.
private struct DeviceBody: Encodable {
    struct StartToken: Encodable {
        var token: String
        var generation: Int
    }

    var environment: String
    var installation: String
    var osVersion: String
    var appVersion: String
    var activitiesEnabled: Bool?
    var frequentPushesEnabled: Bool?
    var deviceToken: String?
    var startTokens: [String: StartToken]?
    var topics: [String]?

    /// Says what the phone follows.
    init(following topics: [String]?, _ facts: PhoneFacts, of report: Report) {
        environment = facts.environment
        installation = report.installation
        osVersion = facts.osVersion
        appVersion = facts.appVersion
        self.topics = topics
    }

    /// Says everything else about the phone.
    init(_ facts: PhoneFacts, of report: Report) {
        self.init(following: nil, facts, of: report)
        activitiesEnabled = facts.activitiesEnabled
        frequentPushesEnabled = facts.frequentPushesEnabled
        deviceToken = facts.deviceToken
        let tokens = facts.startTokens.mapValues { StartToken(token: $0, generation: report.number) }
        startTokens = tokens.isEmpty ? nil : tokens
    }
}

/// The body of `PUT …/activities/{id}/subscriptions/{device}`.
private struct CardBody: Encodable {
    var updateToken: String?
    var channelId: String?
    var ended: Bool?
    var pending: Bool?
    var generation: Int
    var knownRevision: Int?
    var activitykitId: String
    var environment: String
    var installation: String
    var osVersion: String
    var appVersion: String

    init(_ card: CardNews, of report: Report) {
        switch card.reach {
        case .token(let token): updateToken = token
        case .channel(let channel): channelId = channel
        case .gone: ended = true
        }
        pending = card.isPending
        generation = report.number
        knownRevision = card.revision
        activitykitId = card.card
        environment = report.facts.environment
        installation = report.installation
        osVersion = report.facts.osVersion
        appVersion = report.facts.appVersion
    }
}

/// The body of `POST …/devices/{id}/receipts`.
private struct ReceiptsBody: Encodable {
    struct CardReceipt: Encodable {
        var activityId: String
        var revision: Int
        var ageMilliseconds: Int?
    }

    var receipts: [CardReceipt]

    init(_ receipts: [Receipt]) {
        self.receipts = receipts.map {
            CardReceipt(activityId: $0.activity, revision: $0.revision, ageMilliseconds: $0.age)
        }
    }
}

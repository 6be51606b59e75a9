package import APITypes
package import ActivityModel
import JSON

/// The reports that a registration ticket allows: one device, for one user, and its cards.
package struct TicketGrant: Sendable, Hashable {
    package let app: BundleID
    package let environment: APNSEnvironment
    package let device: DeviceID
    package private(set) var user: UserID?
    /// Nil: those that the device or its user is in the audience of, or the device has a card of.
    package private(set) var activities: [ActivityID]?
    /// The topics that the device may follow. Nil: none.
    package private(set) var topics: [TopicPattern]?
    /// UNIX seconds of the database's clock.
    package let expiresAt: Timestamp
    /// `iat` of a ticket that a backend signed. Nil: Tally made it, and nothing revokes it.
    package private(set) var issuedAt: Timestamp?
}

// MARK: What it allows

extension TicketGrant {
    /// - Throws: 403 unless the ticket is for this device and, if it names activities, for this one.
    package func check(app: BundleID?, device: DeviceID?, activity: ActivityID?) throws(Problem) {
        if app != self.app { throw .appForbidden("The ticket is for another app.") }
        if device != self.device { throw .ticketForbidden("The ticket is for another device.") }
        if let activity, let activities, !activities.contains(activity) { throw .otherActivity }
    }

    /// The report with the values that the ticket fixes: also the user, and no user if the ticket names none. An app
    /// whose user has signed out could not say so otherwise.
    ///
    /// The report replaces the topics that the ticket allows. The others stay, whoever gave them.
    ///
    /// - Throws: 403 if the report names another environment or user, or a topic that is not allowed.
    package func admit(_ report: DeviceRequest) throws(Problem) -> DeviceRequest {
        if report.environment != environment { throw .otherEnvironment }
        if let named = report.user.id, named != user { throw .ticketForbidden("The ticket is for another user.") }
        if let followed = report.topics,
            !followed.allSatisfy({ topic in topics?.contains { $0.matches(topic) } ?? false })
        {
            throw .ticketForbidden("The ticket does not allow all of these topics.")
        }
        var report = report
        report.allowedTopics = topics ?? []
        report.user = user.map { .user($0) } ?? .nobody
        return report
    }

    /// The same for the report of a card.
    package func admit(_ report: SubscriptionRequest) throws(Problem) -> SubscriptionRequest {
        if let named = report.environment, named != environment { throw .otherEnvironment }
        var report = report
        report.environment = environment
        return report
    }
}

extension Problem {
    package static let otherActivity = ticketForbidden("The ticket is not for this activity.")
    fileprivate static let otherEnvironment = ticketForbidden("The ticket is for the other environment.")
}

// MARK: As JSON

extension TicketGrant {
    /// The members are short: the whole is a header field.
    var json: JSONValue {
        var object = JSONObject()
        object["app"] = .string(app.rawValue)
        object["env"] = .string(environment.rawValue)
        object["dev"] = .string(device.rawValue)
        object["usr"] = user.map { .string($0.rawValue) }
        object["act"] = activities.map { .array($0.map { .string($0.rawValue) }) }
        object["top"] = topics.map { .array($0.map { .string($0.rawValue) }) }
        object["exp"] = .number(JSONNumber(expiresAt))
        return .object(object)
    }

    /// Reads what ``json`` made; nil for anything else.
    init?(json: JSONValue) {
        guard let app = json["app"]?.string.flatMap({ BundleID($0) }),
            let environment = json["env"]?.string.flatMap({ APNSEnvironment(rawValue: $0) }),
            let device = json["dev"]?.string.flatMap({ DeviceID($0) }),
            let expiresAt = json["exp"]?.int64
        else { return nil }
        self.init(
            app: app,
            environment: environment,
            device: device,
            user: json["usr"]?.string.flatMap { UserID($0) },
            activities: json["act"]?.array?.compactMap { $0.string.flatMap { ActivityID($0) } },
            topics: json["top"]?.array?.compactMap { $0.string.flatMap { TopicPattern($0) } },
            expiresAt: expiresAt
        )
    }
}

internal import APITypes
internal import ActivityModel
public import Foundation

/// Lets an app report its device and its cards without an API key. A backend makes it and passes it to the app.
public struct RegistrationTicket: Sendable, Hashable {
    /// The secret text that the app sends as `Authorization: Bearer …`.
    public let text: String
    /// When the ticket expires.
    public let expiresAt: Date
}

/// The JSON that the app expects from your backend: Tally's answer.
extension RegistrationTicket: Encodable {
    private enum CodingKeys: String, CodingKey {
        case text = "ticket"
        case expiresAt = "expires_at"
    }

    /// Encodes `ticket` and `expires_at`, an RFC 3339 text with every encoder.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(text, forKey: .text)
        try fields.encode(expiresAt.formatted(.iso8601), forKey: .expiresAt)
    }
}

extension TallyBackend {
    /// Makes a ticket for the app on one device. With it the app may report only that device and its cards.
    ///
    /// The API key needs the scope `register`.
    ///
    /// - Parameters:
    ///   - device: The id that the app chose for this installation.
    ///   - user: The signed-in user, for whom the device is registered. Nil: no user; this also removes an earlier one.
    ///   - activities: The activities whose cards may be reported. The phone gets their state, so check that the user may see
    ///     each. Nil: those that have the device or its user in their audience, those with a card on the device, and those
    ///     that were to be started on it.
    ///   - topics: The topics that the device may follow. One that ends with `*` stands for all with that prefix.
    ///   - isSandbox: Whether the app is a build from Xcode.
    ///   - lifetimeSeconds: 1 to 86400. A ticket cannot be revoked before it expires.
    /// - Returns: The ticket. Tally does not store it.
    /// - Throws: ``TallyError``.
    public func ticket(
        forDevice device: String,
        user: String? = nil,
        activities: [String]? = nil,
        topics: [String] = [],
        isSandbox: Bool = false,
        lifetimeSeconds: Int64 = 3_600
    ) async throws(TallyError) -> RegistrationTicket {
        var request = RegistrationTicketRequest(
            environment: isSandbox ? .sandbox : .production,
            deviceID: try Self.deviceID(device),
            ttlSeconds: lifetimeSeconds
        )
        if let user { request.userID = try Self.userID(user) }
        if let activities {
            var ids: [ActivityID] = []
            for activity in activities { ids.append(try Self.activityID(activity)) }
            request.activities = ids
        }
        if !topics.isEmpty {
            var patterns: [TopicPattern] = []
            for topic in topics { patterns.append(try Self.checked(topic, "a topic", TopicPattern.init)) }
            request.topics = patterns
        }
        return try await call { [request] client throws(ClientError) in
            let answer = try await client.createTicket(app, request)
            return RegistrationTicket(text: answer.ticket, expiresAt: Date(answer.expiresAt))
        }
    }

    /// Erases a user: the devices, tokens and cards, their history, and every mention in an audience. May be repeated.
    ///
    /// The API key needs the scope `register`.
    ///
    /// - Throws: ``TallyError``.
    public func eraseUser(_ user: String) async throws(TallyError) {
        let id = try Self.userID(user)
        try await call { client throws(ClientError) in try await client.deleteUser(app, id) }
    }
}

internal import APITypes
internal import ActivityModel
public import Foundation

/// What an app reports its device and its cards with, in place of an API key.
public struct RegistrationTicket: Sendable, Hashable {
    /// What the app sends as `Authorization: Bearer …`; secret.
    public let text: String
    /// Until when it is good.
    public let expiresAt: Date
}

extension TallyBackend {
    /// Makes a ticket for the app on one device: with it the app may report that device and its cards, and nothing
    /// else.
    ///
    /// The API key needs the scope `register`.
    ///
    /// - Parameters:
    ///   - device: The id that the app chose for this installation.
    ///   - user: Who is signed in there; the device is registered for this user. Nil: for nobody, whoever it was
    ///     before.
    ///   - activities: Those whose cards may be reported; nil: those that the device or its user is in the audience of,
    ///     or the device has a card of or was to be started for.
    ///   - isSandbox: Whether it is a build from Xcode.
    ///   - lifetimeSeconds: 1 to 86400. It cannot be taken back before that time is over.
    /// - Returns: The ticket, which is stored nowhere.
    /// - Throws: ``TallyError``.
    public func ticket(
        forDevice device: String,
        user: String? = nil,
        activities: [String]? = nil,
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
        return try await call { [request] client throws(ClientError) in
            let answer = try await client.createTicket(app, request)
            return RegistrationTicket(text: answer.ticket, expiresAt: Date(answer.expiresAt))
        }
    }

    /// Erases a user: devices, tokens, cards, the story of them, and every mention in an audience. May be repeated.
    ///
    /// The API key needs the scope `register`.
    ///
    /// - Throws: ``TallyError``.
    public func eraseUser(_ user: String) async throws(TallyError) {
        let id = try Self.userID(user)
        try await call { client throws(ClientError) in try await client.deleteUser(app, id) }
    }
}

package import APITypes
package import ActivityModel
package import Postgres
package import Registry
package import Store

// What the API asks of the room below, and what that room asks of this one.

// MARK: Apps and keys

extension Orchestrator {
    /// See ``Registry/putApp(_:_:)``.
    package func putApp(_ id: BundleID, _ request: AppRequest) async throws -> AppResource {
        try await registry.putApp(id, request)
    }

    /// See ``Registry/patchApp(_:_:)``.
    package func patchApp(_ id: BundleID, _ patch: AppPatch) async throws -> AppResource {
        try await registry.patchApp(id, patch)
    }

    /// See ``Registry/app(_:)``.
    package func app(_ id: BundleID) async throws -> AppResource { try await registry.app(id) }

    /// See ``Registry/apps(_:only:)``.
    package func apps(_ page: PageRequest, only: BundleID?) async throws -> Page<AppResource> {
        try await registry.apps(page, only: only)
    }

    /// See ``Registry/deleteApp(_:activities:)``.
    package func deleteApp(_ id: BundleID) async throws {
        try await registry.deleteApp(id, activities: self)
        facts.removeAll()
    }

    /// See ``Registry/environment(_:of:)``.
    func environment(_ requested: APNSEnvironment?, of app: BundleID) async throws -> APNSEnvironment {
        try await registry.environment(requested, of: app)
    }

    /// See ``Registry/createAPIKey(_:)``.
    package func createAPIKey(_ request: APIKeyRequest) async throws -> APIKeyResource {
        try await registry.createAPIKey(request)
    }

    /// See ``Registry/apiKeys(_:only:)``.
    package func apiKeys(_ page: PageRequest, only: BundleID?) async throws -> Page<APIKeyResource> {
        try await registry.apiKeys(page, only: only)
    }

    /// See ``Registry/revokeAPIKey(_:only:)``.
    package func revokeAPIKey(_ id: String, only: BundleID?) async throws {
        try await registry.revokeAPIKey(id, only: only)
    }

    /// See ``Registry/authenticate(secret:)``.
    package func authenticate(secret: String) async throws -> Principal? {
        try await registry.authenticate(secret: secret)
    }
}

// MARK: Types

extension Orchestrator {
    /// See ``Registry/putType(_:_:_:force:)``.
    package func putType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: TypeRequest,
        force: Bool
    ) async throws -> TypeRegistration {
        try await registry.putType(app, name, request, force: force)
    }

    /// See ``Registry/patchType(_:_:_:)``.
    package func patchType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ patch: TypePatch
    ) async throws -> TypeResource {
        try await registry.patchType(app, name, patch)
    }

    /// See ``Registry/types(_:_:)``.
    package func types(_ app: BundleID, _ page: PageRequest) async throws -> Page<TypeResource> {
        try await registry.types(app, page)
    }

    /// See ``Registry/type(_:_:)``.
    package func type(_ app: BundleID, _ name: ActivityTypeName) async throws -> TypeResource {
        try await registry.type(app, name)
    }

    /// See ``Registry/typeVersions(_:_:_:)``.
    package func typeVersions(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ page: PageRequest
    ) async throws -> Page<TypeVersionResource> {
        try await registry.typeVersions(app, name, page)
    }

    /// See ``Registry/putTypeVersion(_:_:_:_:)``.
    package func putTypeVersion(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ version: Int,
        _ request: TypeVersionRequest
    ) async throws -> TypeVersionResource {
        try await registry.putTypeVersion(app, name, version, request)
    }

    /// See ``Registry/validate(_:_:_:)``.
    package func validate(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: ValidationRequest
    ) async throws -> ValidationAnswer {
        try await registry.validate(app, name, request)
    }

    /// See ``Registry/typeContext(_:_:)``.
    package func typeContext(_ app: BundleID, _ name: ActivityTypeName) async throws -> TypeContext {
        try await registry.typeContext(app, name)
    }
}

// MARK: Devices and users

extension Orchestrator {
    /// See ``Registry/device(_:_:)``.
    package func device(_ app: BundleID, _ id: DeviceID) async throws -> DeviceResource {
        try await registry.device(app, id)
    }

    /// See ``Registry/devices(_:user:token:_:)``.
    package func devices(
        _ app: BundleID,
        user: UserID? = nil,
        token: PushToken? = nil,
        _ page: PageRequest
    ) async throws -> Page<DeviceResource> {
        try await registry.devices(app, user: user, token: token, page)
    }

    /// See ``Registry/deleteDevice(_:_:)``.
    package func deleteDevice(_ app: BundleID, _ id: DeviceID) async throws {
        try await registry.deleteDevice(app, id)
    }

    /// See ``Registry/eraseUser(_:_:)``.
    package func eraseUser(_ app: BundleID, _ id: UserID) async throws { try await registry.eraseUser(app, id) }

    /// See ``Registry/putTopics(_:of:_:activities:)``.
    package func putTopics(
        _ app: BundleID,
        of follower: TopicFollower,
        _ request: TopicsRequest
    ) async throws -> FollowedTopics {
        try await registry.putTopics(app, of: follower, request, activities: self)
    }

    /// See ``Registry/topics(_:of:)``.
    package func topics(_ app: BundleID, of follower: TopicFollower) async throws -> FollowedTopics {
        try await registry.topics(app, of: follower)
    }

    /// See ``Registry/topics(_:_:)``.
    package func topics(_ app: BundleID, _ page: PageRequest) async throws -> Page<TopicResource> {
        try await registry.topics(app, page)
    }
}

// MARK: Tickets

extension Orchestrator {
    /// See ``Registry/createTicket(_:_:)``.
    package func createTicket(
        _ app: BundleID,
        _ request: RegistrationTicketRequest
    ) async throws -> RegistrationTicketAnswer {
        try await registry.createTicket(app, request)
    }

    /// See ``Registry/createTickets(_:_:)``.
    package func createTickets(_ app: BundleID, _ request: TicketBatchRequest) async throws -> TicketBatchAnswer {
        try await registry.createTickets(app, request)
    }

    /// See ``Registry/createTicketKey(_:_:)``.
    package func createTicketKey(_ app: BundleID, _ request: TicketKeyRequest) async throws -> TicketKeyResource {
        try await registry.createTicketKey(app, request)
    }

    /// See ``Registry/ticketKeys(_:_:)``.
    package func ticketKeys(_ app: BundleID, _ page: PageRequest) async throws -> Page<TicketKeyResource> {
        try await registry.ticketKeys(app, page)
    }

    /// See ``Registry/revokeTicketKey(_:_:afterSeconds:)``.
    package func revokeTicketKey(_ app: BundleID, _ id: String, afterSeconds: Int) async throws {
        try await registry.revokeTicketKey(app, id, afterSeconds: afterSeconds)
    }

    /// See ``Registry/revokeTickets(_:of:_:)``.
    package func revokeTickets(
        _ app: BundleID,
        of subject: TicketSubject,
        _ request: TicketRevocationRequest
    ) async throws -> TicketRevocation {
        try await registry.revokeTickets(app, of: subject, request)
    }
}

// MARK: What the registry asks

extension Orchestrator: ActivityKeeper {
    package func startActivities(on deviceKeys: [Int64], after statements: [Query], isReport: Bool) async throws {
        try await enrol(deviceKeys: deviceKeys, after: statements, isReport: isReport)
    }

    package func endCards(_ cards: [CardKey], on connection: PostgresConnection) async throws {
        _ = try await connection.pipeline(CardKey.hold(cards) + LeavingCards.statements(cards, starts: .cancelled))
    }

    package func readmit(_ deviceKey: Int64, on connection: PostgresConnection) async throws {
        try await AppVersionAdmission(orchestrator: self).readmit(deviceKey, on: connection)
    }

    package func deleteActivities(of app: BundleID) async throws {
        var place: ActivityDeletion.Place? = .oldest
        while let after = place {
            place = try await database.withYieldingTransaction { connection in
                try await ActivityDeletion(cause: .app(app), after: after).run(on: connection).next
            }
        }
    }
}

package import APITypes
package import ActivityModel
import Channels
import DeliveryStore
import Intake
package import Orchestrator
package import Record
package import Registry
package import ReportTypes
import Webhooks

// Short ways from the orchestrator of a test to its rooms.
extension Orchestrator {
    package func putApp(_ id: BundleID, _ request: AppRequest) async throws -> AppResource {
        try await registry.putApp(id, request)
    }

    package func patchApp(_ id: BundleID, _ patch: AppPatch) async throws -> AppResource {
        try await registry.patchApp(id, patch)
    }

    package func app(_ id: BundleID) async throws -> AppResource { try await registry.app(id) }

    package func apps(_ page: PageRequest, only: BundleID?) async throws -> Page<AppResource> {
        try await registry.apps(page, only: only)
    }

    package func createAPIKey(_ request: APIKeyRequest) async throws -> APIKeyResource {
        try await registry.createAPIKey(request)
    }

    package func apiKeys(_ page: PageRequest, only: BundleID?) async throws -> Page<APIKeyResource> {
        try await registry.apiKeys(page, only: only)
    }

    package func revokeAPIKey(_ id: String, only: BundleID?) async throws {
        try await registry.revokeAPIKey(id, only: only)
    }

    package func authenticate(secret: String) async throws -> Principal? {
        try await registry.authenticate(secret: secret)
    }

    package func putType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: TypeRequest,
        force: Bool
    ) async throws -> TypeRegistration {
        try await registry.putType(app, name, request, force: force)
    }

    package func patchType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ patch: TypePatch
    ) async throws -> TypeResource {
        try await registry.patchType(app, name, patch)
    }

    package func types(_ app: BundleID, _ page: PageRequest) async throws -> Page<TypeResource> {
        try await registry.types(app, page)
    }

    package func type(_ app: BundleID, _ name: ActivityTypeName) async throws -> TypeResource {
        try await registry.type(app, name)
    }

    package func typeVersions(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ page: PageRequest
    ) async throws -> Page<TypeVersionResource> {
        try await registry.typeVersions(app, name, page)
    }

    package func putTypeVersion(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ version: Int,
        _ request: TypeVersionRequest
    ) async throws -> TypeVersionResource {
        try await registry.putTypeVersion(app, name, version, request)
    }

    package func validate(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: ValidationRequest
    ) async throws -> ValidationAnswer {
        try await registry.validate(app, name, request)
    }

    package func typeContext(_ app: BundleID, _ name: ActivityTypeName) async throws -> TypeContext {
        try await registry.typeContext(app, name)
    }

    package func device(_ app: BundleID, _ id: DeviceID) async throws -> DeviceResource {
        try await registry.device(app, id)
    }

    package func devices(
        _ app: BundleID,
        user: UserID? = nil,
        token: PushToken? = nil,
        _ page: PageRequest
    ) async throws -> Page<DeviceResource> {
        try await registry.devices(app, user: user, token: token, page)
    }

    package func deleteDevice(_ app: BundleID, _ id: DeviceID) async throws {
        try await registry.deleteDevice(app, id)
    }

    package func eraseUser(_ app: BundleID, _ id: UserID) async throws { try await intake.eraseUser(app, id) }

    package func topics(_ app: BundleID, of follower: UserOrDevice) async throws -> FollowedTopics {
        try await registry.topics(app, of: follower)
    }

    package func topics(_ app: BundleID, _ page: PageRequest) async throws -> Page<TopicResource> {
        try await registry.topics(app, page)
    }

    package func createTicket(
        _ app: BundleID,
        _ request: RegistrationTicketRequest
    ) async throws -> RegistrationTicketAnswer {
        try await registry.createTicket(app, request)
    }

    package func createTickets(_ app: BundleID, _ request: TicketBatchRequest) async throws -> TicketBatchAnswer {
        try await registry.createTickets(app, request)
    }

    package func createTicketKey(_ app: BundleID, _ request: TicketKeyRequest) async throws -> TicketKeyResource {
        try await registry.createTicketKey(app, request)
    }

    package func ticketKeys(_ app: BundleID, _ page: PageRequest) async throws -> Page<TicketKeyResource> {
        try await registry.ticketKeys(app, page)
    }

    package func revokeTicketKey(_ app: BundleID, _ id: String, afterSeconds: Int) async throws {
        try await registry.revokeTicketKey(app, id, afterSeconds: afterSeconds)
    }

    package func revokeTickets(
        _ app: BundleID,
        of subject: UserOrDevice,
        _ request: TicketRevocationRequest
    ) async throws -> TicketRevocation {
        try await registry.revokeTickets(app, of: subject, request)
    }

    package func channels(_ app: BundleID, _ page: PageRequest) async throws -> Page<ChannelResource> {
        try await channelRoom.list(app, page)
    }

    package func channel(_ app: BundleID, _ id: ChannelID) async throws -> ChannelResource {
        try await channelRoom.channel(app, id)
    }

    package func halts(of app: BundleID, _ page: PageRequest) async throws -> Page<HaltResource> {
        try await deliveryStore.halts(of: app, page)
    }

    package func liftHalt(_ app: BundleID, _ environment: APNSEnvironment, reviving: Bool) async throws {
        try await deliveryStore.liftHalt(app, environment, reviving: reviving)
    }

    package func warnings() async throws -> [String] { try await deliveryStore.warnings() }

    package func putWebhook(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookRequest
    ) async throws -> WebhookResource {
        try await webhookRoom.put(app, id, request)
    }

    package func webhooks(_ app: BundleID, _ page: PageRequest) async throws -> Page<WebhookResource> {
        try await webhookRoom.list(app, page)
    }

    package func webhook(_ app: BundleID, _ id: WebhookID) async throws -> WebhookResource {
        try await webhookRoom.webhook(app, id)
    }

    package func deleteWebhook(_ app: BundleID, _ id: WebhookID) async throws {
        try await webhookRoom.delete(app, id)
    }

    package func replayWebhook(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookReplayRequest
    ) async throws -> WebhookResource {
        try await webhookRoom.replay(app, id, request)
    }

    package func activity(_ app: BundleID, _ id: ActivityID) async throws -> ActivityResource {
        try await record.activity(app, id)
    }

    package func activities(
        _ app: BundleID,
        type: ActivityTypeName?,
        state: ActivityState?,
        device: DeviceID? = nil,
        user: UserID? = nil,
        containing part: String? = nil,
        _ page: PageRequest
    ) async throws -> Page<ActivityResource> {
        try await record.activities(
            app,
            type: type,
            state: state,
            device: device,
            user: user,
            containing: part,
            page
        )
    }

    package func audience(_ app: BundleID, _ id: ActivityID, _ page: PageRequest) async throws -> AudiencePage {
        try await record.audience(app, id, page)
    }

    package func subscriptions(
        _ app: BundleID,
        _ activity: ActivityID,
        state: SubscriptionState? = nil,
        _ page: PageRequest
    ) async throws -> Page<SubscriptionResource> {
        try await record.subscriptions(app, activity, state: state, page)
    }

    package func timeline(
        _ app: BundleID,
        _ id: ActivityID,
        device: DeviceID?,
        user: UserID? = nil,
        _ page: PageRequest
    ) async throws -> TimelineAnswer {
        try await record.timeline(app, id, device: device, user: user, page)
    }

    package func audit(_ filter: AuditFilter, _ page: PageRequest, only: BundleID?) async throws -> Page<AuditEntry> {
        try await record.audit(filter, page, only: only)
    }

    package func events(
        matching filter: EventFilter,
        order: EventOrder = .oldestFirst,
        _ page: PageRequest
    ) async throws -> Page<EventResource> {
        try await record.events(matching: filter, order: order, page)
    }

    package func eventPlace(_ text: String?) async throws -> EventCursor { try await record.eventPlace(text) }

    package func nextEvents(
        after place: EventCursor,
        matching filter: EventFilter,
        within patience: Duration
    ) async throws -> EventPage {
        try await record.nextEvents(after: place, matching: filter, within: patience)
    }
}

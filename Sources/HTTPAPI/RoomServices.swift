package import APITypes
package import ActivityModel
package import Intake
package import Record
package import Registry
package import ReportTypes
package import Store

/// What the routes ask of the registry.
package protocol RegistryService: Sendable {
    /// The owner of this key or ticket; nil if it is unknown, revoked or expired.
    ///
    /// - Throws: 401 with the reason for a ticket that a backend signed and that is not good.
    func authenticate(secret: String) async throws -> Principal?

    // MARK: Apps and API keys

    func putApp(_ id: BundleID, _ request: AppRequest) async throws -> AppResource
    /// Changes only what the merge patch names.
    func patchApp(_ id: BundleID, _ patch: AppPatch) async throws -> AppResource
    func app(_ id: BundleID) async throws -> AppResource
    /// All apps sorted by id, or only the app of a bound key.
    func apps(_ page: PageRequest, only: BundleID?) async throws -> Page<AppResource>

    func createAPIKey(_ request: APIKeyRequest) async throws -> APIKeyResource
    /// All keys, or those bound to one app.
    func apiKeys(_ page: PageRequest, only: BundleID?) async throws -> Page<APIKeyResource>
    func revokeAPIKey(_ id: String, only: BundleID?) async throws

    // MARK: Types

    func putType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: TypeRequest,
        force: Bool
    ) async throws -> TypeRegistration
    /// Changes only what the merge patch names.
    func patchType(_ app: BundleID, _ name: ActivityTypeName, _ patch: TypePatch) async throws -> TypeResource
    func types(_ app: BundleID, _ page: PageRequest) async throws -> Page<TypeResource>
    func type(_ app: BundleID, _ name: ActivityTypeName) async throws -> TypeResource
    func typeVersions(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ page: PageRequest
    ) async throws -> Page<TypeVersionResource>
    func putTypeVersion(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ version: Int,
        _ request: TypeVersionRequest
    ) async throws -> TypeVersionResource
    func validate(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: ValidationRequest
    ) async throws -> ValidationAnswer

    // MARK: Devices, topics and tickets

    /// Devices: all, those of one user, or those with a token or with a token that begins so.
    func devices(
        _ app: BundleID,
        user: UserID?,
        token: PushToken?,
        _ page: PageRequest
    ) async throws -> Page<DeviceResource>
    func device(_ app: BundleID, _ id: DeviceID) async throws -> DeviceResource
    func deleteDevice(_ app: BundleID, _ id: DeviceID) async throws

    func topics(_ app: BundleID, of follower: UserOrDevice) async throws -> FollowedTopics
    /// The topics of an app, with the number of their followers.
    func topics(_ app: BundleID, _ page: PageRequest) async throws -> Page<TopicResource>

    /// Makes a ticket. Only this answer contains it.
    func createTicket(_ app: BundleID, _ request: RegistrationTicketRequest) async throws -> RegistrationTicketAnswer
    /// Makes many tickets, in the order of the requests: all or none.
    func createTickets(_ app: BundleID, _ request: TicketBatchRequest) async throws -> TicketBatchAnswer
    /// Makes a key with which a backend signs tickets. Only this answer contains its secret.
    func createTicketKey(_ app: BundleID, _ request: TicketKeyRequest) async throws -> TicketKeyResource
    func ticketKeys(_ app: BundleID, _ page: PageRequest) async throws -> Page<TicketKeyResource>
    /// Tickets of this key are refused after so many seconds.
    func revokeTicketKey(_ app: BundleID, _ id: String, afterSeconds: Int) async throws
    /// Signed tickets of a user or device that were made before a time are refused.
    func revokeTickets(
        _ app: BundleID,
        of subject: UserOrDevice,
        _ request: TicketRevocationRequest
    ) async throws -> TicketRevocation
}

/// What the routes ask of the room of channels.
package protocol ChannelService: Sendable {
    func list(_ app: BundleID, _ page: PageRequest) async throws -> Page<ChannelResource>
    func channel(_ app: BundleID, _ id: ChannelID) async throws -> ChannelResource
    func delete(_ app: BundleID, _ id: ChannelID) async throws
}

/// What the routes ask about halted sending.
package protocol HaltService: Sendable {
    /// Warnings for operators, for `/health/ready`. It must return within the timeout of a probe.
    ///
    /// - Throws: The error that keeps the daemon from working.
    func warnings() async throws -> [String]

    /// The environments of an app for which sending is halted.
    func halts(of app: BundleID, _ page: PageRequest) async throws -> Page<HaltResource>
    /// Resumes halted sending. `reviving` decides whether tokens that were rejected meanwhile are tried again.
    func liftHalt(_ app: BundleID, _ environment: APNSEnvironment, reviving: Bool) async throws
}

/// What the routes ask of the room of accepting.
package protocol IntakeService: Sendable {
    // MARK: Devices and cards

    func putDevice(_ app: BundleID, _ id: DeviceID, _ request: DeviceRequest) async throws -> DeviceResource
    /// The same for a ticket. The caller learns nothing about the device, except why a report was ignored.
    func registerDevice(
        _ app: BundleID,
        _ id: DeviceID,
        _ request: DeviceRequest,
        by ticket: TicketGrant?
    ) async throws -> StaleReport?
    /// `ticket`: what the caller has instead of a key.
    func subscribe(
        _ app: BundleID,
        _ activity: ActivityID,
        _ device: DeviceID,
        _ request: SubscriptionRequest,
        by ticket: TicketGrant?
    ) async throws -> SubscriptionAnswer
    /// The share of cards whose receipts are wanted, from 0 to 1.
    var receiptSampling: Double { get }
    /// Records which revisions an app saw on the cards of a device. Others than those of its cards are ignored.
    func takeReceipts(_ app: BundleID, _ device: DeviceID, _ receipts: [CardReceipt]) async throws
    func unsubscribe(_ app: BundleID, _ activity: ActivityID, _ device: DeviceID) async throws
    /// Erases a user with the devices and every mention in an audience.
    func eraseUser(_ app: BundleID, _ id: UserID) async throws

    // MARK: Activities

    // `origin` is the request that brings a change. It is kept with the change.

    /// The answer is a replay if the same start was accepted before. Nothing changes then.
    func start(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest,
        origin: RequestOrigin?
    ) async throws -> Replayable<StartAnswer>
    /// Dry runs check like the real request, but write nothing.
    func dryRunStart(_ app: BundleID, _ id: ActivityID, _ request: StartRequest) async throws -> DryRunAnswer
    func dryRunUpdate(_ app: BundleID, _ id: ActivityID, _ request: UpdateRequest) async throws -> DryRunAnswer
    func dryRunEnd(_ app: BundleID, _ id: ActivityID, _ request: EndRequest) async throws -> DryRunAnswer
    func update(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: UpdateRequest,
        idempotency: IdempotencyKey?,
        origin: RequestOrigin?
    ) async throws -> Replayable<UpdateAnswer>
    func end(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: EndRequest,
        idempotency: IdempotencyKey?,
        origin: RequestOrigin?
    ) async throws -> Replayable<EndAnswer>
    func changeAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: AudienceRequest,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<AudienceCounts>
    /// Adds one page of a long list. `known` is what the page before returned.
    func addToAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ page: AudienceListPage,
        after known: AudienceListProgress?,
        idempotency: IdempotencyKey?
    ) async throws -> AudienceListProgress

    /// Accepts an ordinary push into the queue, which sends it later.
    func push(
        _ app: BundleID,
        _ request: PushRequest,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<PushAnswer>
    /// Carries out many operations, each with the result of its own method above.
    ///
    /// - `waited`: how long the batch waited to be read.
    func batch(
        _ app: BundleID,
        _ operations: [KeyedOperation],
        waited: Duration,
        origin: RequestOrigin?
    ) async -> [Intake.OperationResult]
}

/// What the routes ask of the record.
package protocol RecordService: Sendable {
    func activity(_ app: BundleID, _ id: ActivityID) async throws -> ActivityResource
    func activities(
        _ app: BundleID,
        type: ActivityTypeName?,
        state: ActivityState?,
        device: DeviceID?,
        user: UserID?,
        containing part: String?,
        _ page: PageRequest
    ) async throws -> Page<ActivityResource>
    /// The history of an activity, or of one device or one user in it, newest first.
    func timeline(
        _ app: BundleID,
        _ id: ActivityID,
        device: DeviceID?,
        user: UserID?,
        _ page: PageRequest
    ) async throws -> TimelineAnswer
    /// The users and devices that the audience names.
    func audience(_ app: BundleID, _ id: ActivityID, _ page: PageRequest) async throws -> AudiencePage
    /// The cards of an activity, or those in one state.
    func subscriptions(
        _ app: BundleID,
        _ activity: ActivityID,
        state: SubscriptionState?,
        _ page: PageRequest
    ) async throws -> Page<SubscriptionResource>

    /// The audit log, newest first, or only the entries of one app.
    func audit(_ filter: AuditFilter, _ page: PageRequest, only: BundleID?) async throws -> Page<AuditEntry>

    /// A page of events. A short page is not always the last.
    func events(
        matching filter: EventFilter,
        order: EventOrder,
        _ page: PageRequest
    ) async throws -> Page<EventResource>
    /// The position that `text` names; nil: the current end of the stream.
    func eventPlace(_ text: String?) async throws -> EventCursor
    /// The events after a position, as soon as there are any. After `patience`, the page may be empty and only have a
    /// new position.
    func nextEvents(
        after place: EventCursor,
        matching filter: EventFilter,
        within patience: Duration
    ) async throws -> EventPage
}

/// What the routes ask of the room of webhooks.
package protocol WebhookService: Sendable {
    /// Only the answer that lets Tally make a secret contains it.
    func put(_ app: BundleID, _ id: WebhookID, _ request: WebhookRequest) async throws -> WebhookResource
    func list(_ app: BundleID, _ page: PageRequest) async throws -> Page<WebhookResource>
    func webhook(_ app: BundleID, _ id: WebhookID) async throws -> WebhookResource
    func delete(_ app: BundleID, _ id: WebhookID) async throws
    /// Delivers events again from a time on.
    func replay(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookReplayRequest
    ) async throws -> WebhookResource
}

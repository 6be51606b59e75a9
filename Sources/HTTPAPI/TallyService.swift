package import APITypes
package import ActivityModel
package import Orchestrator

/// What the routes call. `Orchestrator` is the real one; the protocol lets routes be tested without a database.
///
/// Every operation throws `Problem` for what the caller did wrong. What else is thrown is judged by ``problem(for:)``.
package protocol TallyService: Sendable {
    /// Who has this key; nil for one that is unknown, revoked or expired.
    func authenticate(secret: String) async throws -> Principal?

    /// What a caller is told of an error that is not a `Problem`: 503 for an outage, nil for a mistake of ours.
    func problem(for error: any Error) -> Problem?

    /// What operators should look at, although the daemon works; for `/health/ready`, so within what a probe waits.
    ///
    /// - Throws: What keeps the daemon from working.
    func warnings() async throws -> [String]

    // MARK: Apps and API keys

    func putApp(_ id: BundleID, _ request: AppRequest) async throws -> AppResource
    func app(_ id: BundleID) async throws -> AppResource
    /// All apps in order of their ids, or the one that a bound key sees.
    func apps(_ page: PageRequest, only: BundleID?) async throws -> Page<AppResource>
    func deleteApp(_ id: BundleID) async throws
    /// Lets sending go on that was halted; tokens that were rejected on the way are tried again, or stay rejected.
    func liftHalt(_ app: BundleID, _ environment: APNSEnvironment, reviving: Bool) async throws

    func createAPIKey(_ request: APIKeyRequest) async throws -> APIKeyResource
    /// All keys, or those bound to one app.
    func apiKeys(_ page: PageRequest, only: BundleID?) async throws -> Page<APIKeyResource>
    func revokeAPIKey(_ id: String, only: BundleID?) async throws

    /// Looks at everything that sending depends on. `installation`: whether what concerns more than one app is told,
    /// too.
    func examine(_ request: DoctorRequest, installation: Bool) async throws -> DoctorReport

    /// What operators did, the newest first; or what was done to one app.
    func audit(_ filter: AuditFilter, _ page: PageRequest, only: BundleID?) async throws -> Page<AuditEntry>

    // MARK: Types

    func putType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: TypeRequest,
        force: Bool
    ) async throws -> TypeRegistration
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

    // MARK: Devices and subscriptions

    func putDevice(_ app: BundleID, _ id: DeviceID, _ request: DeviceRequest) async throws -> DeviceResource
    /// The same for the bearer of a ticket, who is told nothing of the device but why the report was not taken, if so.
    func registerDevice(_ app: BundleID, _ id: DeviceID, _ request: DeviceRequest) async throws -> StaleReport?
    /// All devices, or those of one user.
    func devices(_ app: BundleID, user: UserID?, _ page: PageRequest) async throws -> Page<DeviceResource>
    func device(_ app: BundleID, _ id: DeviceID) async throws -> DeviceResource
    func deleteDevice(_ app: BundleID, _ id: DeviceID) async throws
    func eraseUser(_ app: BundleID, _ id: UserID) async throws

    /// The answer alone holds the ticket.
    func createTicket(_ app: BundleID, _ request: RegistrationTicketRequest) async throws -> RegistrationTicketAnswer
    /// Whether a ticket that names no activities is good for this one.
    func isMeant(_ ticket: RegistrationTicket, for activity: ActivityID) async throws -> Bool

    func subscribe(
        _ app: BundleID,
        _ activity: ActivityID,
        _ device: DeviceID,
        _ request: SubscriptionRequest
    ) async throws -> SubscriptionAnswer
    func unsubscribe(_ app: BundleID, _ activity: ActivityID, _ device: DeviceID) async throws
    /// The cards of an activity, or those in one state.
    func subscriptions(
        _ app: BundleID,
        _ activity: ActivityID,
        state: SubscriptionState?,
        _ page: PageRequest
    ) async throws -> Page<SubscriptionResource>

    // MARK: Activities

    /// `replay`: the same start was accepted before, and nothing changed.
    func start(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest
    ) async throws -> (answer: StartAnswer, replay: Bool)
    /// The dry runs judge as the real request and write nothing.
    func dryRunStart(_ app: BundleID, _ id: ActivityID, _ request: StartRequest) async throws -> DryRunAnswer
    func dryRunUpdate(_ app: BundleID, _ id: ActivityID, _ request: UpdateRequest) async throws -> DryRunAnswer
    func dryRunEnd(_ app: BundleID, _ id: ActivityID, _ request: EndRequest) async throws -> DryRunAnswer
    func update(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: UpdateRequest,
        idempotency: IdempotencyKey?
    ) async throws -> UpdateAnswer
    func end(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: EndRequest,
        idempotency: IdempotencyKey?
    ) async throws -> EndAnswer
    func changeAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: AudienceRequest,
        idempotency: IdempotencyKey?
    ) async throws -> AudienceCounts
    func activity(_ app: BundleID, _ id: ActivityID) async throws -> ActivityResource
    func activities(
        _ app: BundleID,
        type: ActivityTypeName?,
        state: ActivityState?,
        _ page: PageRequest
    ) async throws -> Page<ActivityResource>
    /// The story of an activity, or of one device's part in it, the newest first.
    func timeline(
        _ app: BundleID,
        _ id: ActivityID,
        device: DeviceID?,
        _ page: PageRequest
    ) async throws -> TimelineAnswer

    /// Accepts an ordinary push; it is sent from the queue.
    func push(_ app: BundleID, _ request: PushRequest, idempotency: IdempotencyKey?) async throws -> PushAnswer
    /// Many operations, each answered as its own method above returns or throws it.
    ///
    /// - `waited`: how long the batch has waited for its turn to be read.
    func batch(
        _ app: BundleID,
        _ operations: [KeyedOperation],
        waited: Duration
    ) async -> [Orchestrator.OperationResult]

    // MARK: Channels and schedules

    func channels(_ app: BundleID, _ page: PageRequest) async throws -> Page<ChannelResource>
    func channel(_ app: BundleID, _ id: ChannelID) async throws -> ChannelResource
    func createChannel(
        _ app: BundleID,
        _ request: ChannelRequest,
        idempotency: IdempotencyKey?
    ) async throws -> ChannelResource
    func deleteChannel(_ app: BundleID, _ id: ChannelID) async throws
    func reconcileChannels(
        _ app: BundleID,
        _ request: ReconcileRequest,
        idempotency: IdempotencyKey?
    ) async throws -> ChannelReport

    /// All schedules, or those in one state.
    func schedules(_ app: BundleID, state: ScheduleState?, _ page: PageRequest) async throws -> Page<ScheduleResource>
    /// `id` is a UUID in lower case.
    func schedule(_ app: BundleID, _ id: String) async throws -> ScheduleResource
    func cancelSchedule(_ app: BundleID, _ id: String) async throws
    /// Runs it now, and only this once; one that has run already is answered as it is.
    func runSchedule(_ app: BundleID, _ id: String) async throws -> ScheduleResource

    // MARK: Events

    /// A page of events from the oldest on; it may be short and not be the last.
    func events(matching filter: EventFilter, _ page: PageRequest) async throws -> Page<EventResource>
    /// Where a reader goes on that remembers the text of a place; nil: from now on.
    func eventPlace(_ text: String?) async throws -> EventCursor
    /// What happens after a place, as soon as something does; after `patience` perhaps nothing but a place to go on
    /// from.
    func nextEvents(
        after place: EventCursor,
        matching filter: EventFilter,
        within patience: Duration
    ) async throws -> EventPage
}

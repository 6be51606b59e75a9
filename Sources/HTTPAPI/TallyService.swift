package import APITypes
package import ActivityModel
package import Orchestrator
package import Registry
package import Store

/// The operations that the routes call. `Orchestrator` and its rooms implement it; tests use other implementations,
/// without a database.
///
/// Every operation throws a `Problem` for a caller's mistake. ``problem(for:)`` handles all other errors.
package protocol TallyService: Sendable {
    associatedtype RegistryRoom: RegistryService
    associatedtype ChannelRoom: ChannelService
    associatedtype HaltRoom: HaltService
    associatedtype RecordRoom: RecordService
    associatedtype WebhookRoom: WebhookService

    var registry: RegistryRoom { get }
    var channelRoom: ChannelRoom { get }
    var deliveryStore: HaltRoom { get }
    var record: RecordRoom { get }
    var webhookRoom: WebhookRoom { get }

    /// The answer for an error that is not a `Problem`: 503 for an outage, nil for a bug.
    func problem(for error: any Error) -> Problem?

    // MARK: Apps

    func deleteApp(_ id: BundleID) async throws

    /// Checks everything that sending depends on. `installation`: whether to include checks that concern more than one
    /// app.
    func examine(_ request: DoctorRequest, installation: Bool) async throws -> DoctorReport

    // MARK: Devices and subscriptions

    func putDevice(_ app: BundleID, _ id: DeviceID, _ request: DeviceRequest) async throws -> DeviceResource
    /// The same for a ticket. The caller learns nothing about the device, except why a report was ignored.
    func registerDevice(_ app: BundleID, _ id: DeviceID, _ request: DeviceRequest) async throws -> StaleReport?
    /// The devices, cards and activities of a user.
    func user(_ app: BundleID, _ id: UserID) async throws -> UserResource
    /// All that is stored of a user.
    func exportUser(_ app: BundleID, _ id: UserID, cursor: String?) async throws -> UserExport
    /// Changes what a user or a device follows.
    func putTopics(
        _ app: BundleID,
        of follower: TopicFollower,
        _ request: TopicsRequest
    ) async throws -> FollowedTopics
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
    ) async -> [Orchestrator.OperationResult]

    // MARK: Channels and schedules

    func createChannel(
        _ app: BundleID,
        _ request: ChannelRequest,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<ChannelResource>
    func reconcileChannels(
        _ app: BundleID,
        _ request: ReconcileRequest,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<ChannelReport>

    /// All schedules, or those in one state.
    func schedules(_ app: BundleID, state: ScheduleState?, _ page: PageRequest) async throws -> Page<ScheduleResource>
    /// `id` is a UUID in lower case.
    func schedule(_ app: BundleID, _ id: String) async throws -> ScheduleResource
    func cancelSchedule(_ app: BundleID, _ id: String) async throws
    /// Runs a schedule now instead of at its time. One that has already run is returned unchanged.
    func runSchedule(_ app: BundleID, _ id: String) async throws -> ScheduleResource
}

package import APITypes
package import ActivityModel
package import ReportTypes
package import Store

/// The operations that the routes call. `Orchestrator` and its rooms implement it; tests use other implementations,
/// without a database.
///
/// Every operation throws a `Problem` for a caller's mistake. ``problem(for:)`` handles all other errors.
package protocol TallyService: Sendable {
    associatedtype RegistryRoom: RegistryService
    associatedtype ChannelRoom: ChannelService
    associatedtype HaltRoom: HaltService
    associatedtype IntakeRoom: IntakeService
    associatedtype RecordRoom: RecordService
    associatedtype WebhookRoom: WebhookService

    var registry: RegistryRoom { get }
    var channelRoom: ChannelRoom { get }
    var deliveryStore: HaltRoom { get }
    var intake: IntakeRoom { get }
    var record: RecordRoom { get }
    var webhookRoom: WebhookRoom { get }

    /// The answer for an error that is not a `Problem`: 503 for an outage, nil for a bug.
    func problem(for error: any Error) -> Problem?

    // MARK: Apps

    func deleteApp(_ id: BundleID) async throws

    /// Checks everything that sending depends on. `installation`: whether to include checks that concern more than one
    /// app.
    func examine(_ request: DoctorRequest, installation: Bool) async throws -> DoctorReport

    // MARK: Users and topics

    /// The devices, cards and activities of a user.
    func user(_ app: BundleID, _ id: UserID) async throws -> UserResource
    /// All that is stored of a user.
    func exportUser(_ app: BundleID, _ id: UserID, cursor: String?) async throws -> UserExport
    /// Changes what a user or a device follows.
    func putTopics(
        _ app: BundleID,
        of follower: UserOrDevice,
        _ request: TopicsRequest
    ) async throws -> FollowedTopics

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

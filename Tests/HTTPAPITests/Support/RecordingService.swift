@testable import APITypes
import ActivityModel
import JSON
import Intake
import ReportTypes
import Synchronization

@testable import HTTPAPI
import Record
@testable import Registry
@testable import Store

/// A service that writes down what routes call and answers what a test gave it.
///
/// Without an answer a call ends with status 418 and the code `reached`, which no route makes by itself.
final class RecordingService: TallyService, RegistryService, ChannelService, RecordService, WebhookService, HaltService,
    IntakeService
{
    private struct State {
        var calls: [String] = []
        var callers: [Caller?] = []
        var origins: [RequestOrigin?] = []
        var idempotencyKeys: [IdempotencyKey?] = []
        var answers: [ObjectIdentifier: any Sendable] = [:]
        var failure: (any Error)?
        var warnings: [String] = []
        var replay = false
        var operationResults: [Intake.OperationResult] = []
        var eventPages: [EventPage] = []
        var holdsReaders = false
        var patiences: [Duration] = []
        var waits: [Duration] = []
        var audiencePages: [AudienceListPage] = []
    }

    /// The keys that there are; nil: whatever reads as `scope` or `scope@app`.
    private let keys: Set<String>?

    init(keys: Set<String>? = nil) {
        self.keys = keys
    }

    /// What a test throws for an outage of the database.
    struct Outage: Error {}
    /// What a test throws for a mistake of the program.
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    static let reached = Problem(418, "reached", "The service was called.")
    /// Keys of every kind: the scope's word for one that sees all apps, `<scope>@com.example.mine` for a bound one.
    static let boundApp = BundleID(stored: "com.example.mine")

    /// What the keys `ticket` and `ticket-d2` are.
    static func ticket(for device: String) -> TicketGrant {
        TicketGrant(
            app: boundApp,
            environment: .production,
            device: DeviceID(stored: device),
            user: UserID(stored: "u1"),
            activities: [ActivityID(stored: "a1")],
            expiresAt: 4_000_000_000
        )
    }

    private let state = Mutex(State())

    var calls: [String] { state.withLock { $0.calls } }
    /// How long readers of events wanted to wait.
    var patiences: [Duration] { state.withLock { $0.patiences } }
    /// How long batches had waited to be read.
    var waits: [Duration] { state.withLock { $0.waits } }
    /// The pages of lists that were added to audiences.
    var audiencePages: [AudienceListPage] { state.withLock { $0.audiencePages } }
    /// Who made each call, as far as the service is told.
    var callers: [Caller?] { state.withLock { $0.callers } }
    /// Which requests brought changes.
    var origins: [RequestOrigin?] { state.withLock { $0.origins } }
    var idempotencyKeys: [IdempotencyKey?] { state.withLock { $0.idempotencyKeys } }

    /// What every later call that answers this type gives.
    func answer<Answer: Sendable>(_ answer: Answer) {
        state.withLock { $0.answers[ObjectIdentifier(Answer.self)] = answer }
    }

    /// What the operations of the next batch come to, one after the other.
    func answerOperations(_ results: [Intake.OperationResult]) {
        state.withLock { $0.operationResults = results }
    }

    /// What readers of events get, one after the other; then the daemon stops.
    func tell(_ pages: [EventPage]) {
        state.withLock { $0.eventPages += pages }
    }

    /// From now on readers of events that have everything wait until they are cancelled.
    func holdReaders() {
        state.withLock { $0.holdsReaders = true }
    }

    /// Whether later answers are replays.
    func isReplay(_ replay: Bool) {
        state.withLock { $0.replay = replay }
    }

    /// What operators are to look at.
    func warn(of warnings: [String]) {
        state.withLock { $0.warnings = warnings }
    }

    /// What every later call throws.
    func fail(with error: any Error) {
        state.withLock { $0.failure = error }
    }

    private func reach<Answer>(_ call: String, as: Answer.Type = Answer.self) throws -> Answer {
        let answer = try state.withLock { state -> (any Sendable)? in
            state.calls.append(call)
            state.callers.append(Caller.current)
            if let failure = state.failure { throw failure }
            return state.answers[ObjectIdentifier(Answer.self)]
        }
        guard let answer = answer as? Answer else { throw Self.reached }
        return answer
    }

    private func give<Answer: Sendable>(_ call: String) throws -> Replayable<Answer> {
        Replayable(try reach(call), isReplay: state.withLock { $0.replay })
    }

    private func done(_ call: String) throws {
        try reach(call, as: Void.self)
    }

    private func keep(_ origin: RequestOrigin?) {
        state.withLock { $0.origins.append(origin) }
    }

    private func keep(_ key: IdempotencyKey?) {
        state.withLock { $0.idempotencyKeys.append(key) }
    }

    // MARK: TallyService

    // It is all the rooms, too.
    var registry: RecordingService { self }
    var channelRoom: RecordingService { self }
    var deliveryStore: RecordingService { self }
    var intake: RecordingService { self }
    var record: RecordingService { self }
    var webhookRoom: RecordingService { self }

    func authenticate(secret: String) async throws -> Principal? {
        if let keys, !keys.contains(secret) { return nil }
        if secret == "ticket" { return Principal(ticket: Self.ticket(for: "d1")) }
        if secret == "ticket-expired" { throw Problem.unauthorized("The ticket is not valid: it has expired.") }
        if secret == "ticket-d2" { return Principal(ticket: Self.ticket(for: "d2")) }
        let parts = secret.split(separator: "@")
        guard let scope = parts.first.flatMap({ Scope(rawValue: String($0)) }) else { return nil }
        return Principal(
            keyID: "key of \(secret)",
            scopes: [scope],
            app: parts.count > 1 ? BundleID(String(parts[1])) : nil
        )
    }

    func problem(for error: any Error) -> Problem? {
        error is Outage ? .unavailable() : nil
    }

    /// Not written down: tests ask for readiness again and again.
    func warnings() async throws -> [String] {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            return state.warnings
        }
    }

    func putApp(_ id: BundleID, _ request: AppRequest) async throws -> AppResource { try reach("putApp \(id)") }
    func patchApp(_ id: BundleID, _ patch: AppPatch) async throws -> AppResource {
        try reach("patchApp \(id) \(patch.json.text)")
    }
    func app(_ id: BundleID) async throws -> AppResource { try reach("app \(id)") }
    func apps(_ page: PageRequest, only: BundleID?) async throws -> Page<AppResource> {
        try reach("apps \(text(page)) only \(only?.rawValue ?? "-")")
    }
    func deleteApp(_ id: BundleID) async throws { try done("deleteApp \(id)") }
    func halts(of app: BundleID, _ page: PageRequest) async throws -> Page<HaltResource> {
        try reach("halts \(app) \(text(page))")
    }
    func liftHalt(_ app: BundleID, _ environment: APNSEnvironment, reviving: Bool) async throws {
        try done("liftHalt \(app) \(environment.rawValue)\(reviving ? "" : " leaving")")
    }

    func examine(_ request: DoctorRequest, installation: Bool) async throws -> DoctorReport {
        try reach("examine \(request.bundleID?.rawValue ?? "-")\(installation ? " all" : "")")
    }

    func createAPIKey(_ request: APIKeyRequest) async throws -> APIKeyResource {
        try reach("createAPIKey \(request.name)")
    }
    func apiKeys(_ page: PageRequest, only: BundleID?) async throws -> Page<APIKeyResource> {
        try reach("apiKeys \(text(page)) only \(only?.rawValue ?? "-")")
    }
    func revokeAPIKey(_ id: String, only: BundleID?) async throws {
        try done("revokeAPIKey \(id) only \(only?.rawValue ?? "-")")
    }

    func audit(_ filter: AuditFilter, _ page: PageRequest, only: BundleID?) async throws -> Page<AuditEntry> {
        let words = [filter.app?.rawValue, filter.action?.rawValue, filter.keyID].map { $0 ?? "-" }
        return try reach("audit \(words.joined(separator: " ")) \(text(page)) only \(only?.rawValue ?? "-")")
    }

    func putType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: TypeRequest,
        force: Bool
    ) async throws -> TypeRegistration { try reach("putType \(app) \(name)\(force ? " force" : "")") }
    func patchType(_ app: BundleID, _ name: ActivityTypeName, _ patch: TypePatch) async throws -> TypeResource {
        try reach("patchType \(app) \(name) \(patch.json.text)")
    }
    func types(_ app: BundleID, _ page: PageRequest) async throws -> Page<TypeResource> {
        try reach("types \(app) \(text(page))")
    }
    func type(_ app: BundleID, _ name: ActivityTypeName) async throws -> TypeResource {
        try reach("type \(app) \(name)")
    }
    func typeVersions(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ page: PageRequest
    ) async throws -> Page<TypeVersionResource> { try reach("typeVersions \(app) \(name) \(text(page))") }
    func putTypeVersion(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ version: Int,
        _ request: TypeVersionRequest
    ) async throws -> TypeVersionResource {
        try reach("putTypeVersion \(app) \(name) \(version) \(request.retired)")
    }
    func validate(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: ValidationRequest
    ) async throws -> ValidationAnswer { try reach("validate \(app) \(name)") }

    func putDevice(_ app: BundleID, _ id: DeviceID, _ request: DeviceRequest) async throws -> DeviceResource {
        try reach("putDevice \(app) \(id)")
    }
    func registerDevice(
        _ app: BundleID,
        _ id: DeviceID,
        _ request: DeviceRequest,
        by ticket: TicketGrant?
    ) async throws -> StaleReport? {
        try done("registerDevice \(app) \(id)")
        return nil
    }
    func devices(
        _ app: BundleID,
        user: UserID?,
        token: PushToken?,
        _ page: PageRequest
    ) async throws -> Page<DeviceResource> {
        try reach("devices \(app) \(user?.rawValue ?? "-") \(token?.hex ?? "-") \(text(page))")
    }
    func device(_ app: BundleID, _ id: DeviceID) async throws -> DeviceResource { try reach("device \(app) \(id)") }
    func deleteDevice(_ app: BundleID, _ id: DeviceID) async throws { try done("deleteDevice \(app) \(id)") }
    func user(_ app: BundleID, _ id: UserID) async throws -> UserResource { try reach("user \(app) \(id)") }
    func exportUser(_ app: BundleID, _ id: UserID, cursor: String?) async throws -> UserExport {
        try reach("exportUser \(app) \(id) \(cursor ?? "-")")
    }
    func eraseUser(_ app: BundleID, _ id: UserID) async throws { try done("eraseUser \(app) \(id)") }

    func putTopics(
        _ app: BundleID,
        of follower: UserOrDevice,
        _ request: TopicsRequest
    ) async throws -> FollowedTopics { try reach("putTopics \(app) \(text(follower)) \(request.json.text)") }
    func topics(_ app: BundleID, of follower: UserOrDevice) async throws -> FollowedTopics {
        try reach("topics \(app) \(text(follower))")
    }
    func topics(_ app: BundleID, _ page: PageRequest) async throws -> Page<TopicResource> {
        try reach("topics \(app) \(text(page))")
    }
    private func text(_ follower: UserOrDevice) -> String {
        switch follower {
        case .user(let id): "user \(id)"
        case .device(let id): "device \(id)"
        }
    }

    func createTicket(
        _ app: BundleID,
        _ request: RegistrationTicketRequest
    ) async throws -> RegistrationTicketAnswer { try reach("createTicket \(app) \(request.deviceID)") }
    func createTickets(_ app: BundleID, _ request: TicketBatchRequest) async throws -> TicketBatchAnswer {
        try reach("createTickets \(app) \(request.tickets.count)")
    }
    func createTicketKey(_ app: BundleID, _ request: TicketKeyRequest) async throws -> TicketKeyResource {
        try reach("createTicketKey \(app) \(request.algorithm.rawValue)")
    }
    func ticketKeys(_ app: BundleID, _ page: PageRequest) async throws -> Page<TicketKeyResource> {
        try reach("ticketKeys \(app) \(text(page))")
    }
    func revokeTicketKey(_ app: BundleID, _ id: String, afterSeconds: Int) async throws {
        try done("revokeTicketKey \(app) \(id) \(afterSeconds)")
    }
    func revokeTickets(
        _ app: BundleID,
        of subject: UserOrDevice,
        _ request: TicketRevocationRequest
    ) async throws -> TicketRevocation { try reach("revokeTickets \(app) \(subject) \(request.revokedBefore)") }
    func put(_ app: BundleID, _ id: WebhookID, _ request: WebhookRequest) async throws -> WebhookResource {
        try reach("putWebhook \(app) \(id) \(request.url)")
    }
    func list(_ app: BundleID, _ page: PageRequest) async throws -> Page<WebhookResource> {
        try reach("webhooks \(app) \(text(page))")
    }
    func webhook(_ app: BundleID, _ id: WebhookID) async throws -> WebhookResource {
        try reach("webhook \(app) \(id)")
    }
    func delete(_ app: BundleID, _ id: WebhookID) async throws { try done("deleteWebhook \(app) \(id)") }
    func replay(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookReplayRequest
    ) async throws -> WebhookResource { try reach("replayWebhook \(app) \(id) \(request.since)") }
    func subscribe(
        _ app: BundleID,
        _ activity: ActivityID,
        _ device: DeviceID,
        _ request: SubscriptionRequest,
        by ticket: TicketGrant?
    ) async throws -> SubscriptionAnswer { try reach("subscribe \(app) \(activity) \(device)") }
    var receiptSampling: Double { 0.25 }
    func takeReceipts(_ app: BundleID, _ device: DeviceID, _ receipts: [CardReceipt]) async throws {
        let list = receipts.map { "\($0.activityID) \($0.revision) \($0.ageMilliseconds.map(String.init) ?? "-")" }
        try done("takeReceipts \(app) \(device) \(list.joined(separator: ", "))")
    }
    func unsubscribe(_ app: BundleID, _ activity: ActivityID, _ device: DeviceID) async throws {
        try done("unsubscribe \(app) \(activity) \(device)")
    }
    func subscriptions(
        _ app: BundleID,
        _ activity: ActivityID,
        state: SubscriptionState?,
        _ page: PageRequest
    ) async throws -> Page<SubscriptionResource> {
        try reach("subscriptions \(app) \(activity) \(state?.rawValue ?? "-") \(text(page))")
    }

    func start(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest,
        origin: RequestOrigin?
    ) async throws -> Replayable<StartAnswer> {
        keep(origin)
        return try give("start \(app) \(id)")
    }
    func dryRunStart(_ app: BundleID, _ id: ActivityID, _ request: StartRequest) async throws -> DryRunAnswer {
        try reach("dryRunStart \(app) \(id)")
    }
    func dryRunUpdate(_ app: BundleID, _ id: ActivityID, _ request: UpdateRequest) async throws -> DryRunAnswer {
        try reach("dryRunUpdate \(app) \(id)")
    }
    func dryRunEnd(_ app: BundleID, _ id: ActivityID, _ request: EndRequest) async throws -> DryRunAnswer {
        try reach("dryRunEnd \(app) \(id)")
    }
    func update(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: UpdateRequest,
        idempotency: IdempotencyKey?,
        origin: RequestOrigin?
    ) async throws -> Replayable<UpdateAnswer> {
        keep(origin)
        keep(idempotency)
        return try give("update \(app) \(id)")
    }
    func end(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: EndRequest,
        idempotency: IdempotencyKey?,
        origin: RequestOrigin?
    ) async throws -> Replayable<EndAnswer> {
        keep(origin)
        keep(idempotency)
        return try give("end \(app) \(id)")
    }
    func changeAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: AudienceRequest,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<AudienceCounts> {
        keep(idempotency)
        return try give("changeAudience \(app) \(id)")
    }
    func addToAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ page: AudienceListPage,
        after known: AudienceListProgress?,
        idempotency: IdempotencyKey?
    ) async throws -> AudienceListProgress {
        keep(idempotency)
        state.withLock { $0.audiencePages.append(page) }
        var counts: AudienceCounts = try reach("addToAudience \(app) \(id)")
        (counts.lines, counts.pages) = (page.lines, page.number)
        return AudienceListProgress(
            answer: counts,
            bodyHash: page.digest,
            isComplete: page.isLast,
            uncounted: nil
        )
    }
    func audience(_ app: BundleID, _ id: ActivityID, _ page: PageRequest) async throws -> AudiencePage {
        try reach("audience \(app) \(id) \(text(page))")
    }
    func activity(_ app: BundleID, _ id: ActivityID) async throws -> ActivityResource {
        try reach("activity \(app) \(id)")
    }
    func activities(
        _ app: BundleID,
        type: ActivityTypeName?,
        state: ActivityState?,
        device: DeviceID?,
        user: UserID?,
        containing part: String?,
        _ page: PageRequest
    ) async throws -> Page<ActivityResource> {
        let filter = [type?.rawValue, state?.rawValue, device?.rawValue, user?.rawValue, part].map { $0 ?? "-" }.joined(
            separator: " "
        )
        return try reach("activities \(app) \(filter) \(text(page))")
    }
    func timeline(
        _ app: BundleID,
        _ id: ActivityID,
        device: DeviceID?,
        user: UserID?,
        _ page: PageRequest
    ) async throws -> TimelineAnswer {
        try reach("timeline \(app) \(id) \(device?.rawValue ?? "-") \(user?.rawValue ?? "-") \(text(page))")
    }

    func push(
        _ app: BundleID,
        _ request: PushRequest,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<PushAnswer> {
        keep(idempotency)
        return try give("push \(app) \(request.pushType.rawValue)")
    }

    func batch(
        _ app: BundleID,
        _ operations: [KeyedOperation],
        waited: Duration,
        origin: RequestOrigin?
    ) async -> [Intake.OperationResult] {
        keep(origin)
        state.withLock { state in
            state.calls.append("batch \(app)")
            state.waits.append(waited)
        }
        return operations.map { keyed in
            keep(keyed.idempotency?.key)
            let call =
                switch keyed.operation.work {
                case .start(let id, _): "start \(id)"
                case .update(let id, _): "update \(id)"
                case .end(let id, _): "end \(id)"
                case .device(let id, _): "device \(id)"
                case .subscription(let id, let device, _): "subscription \(id) \(device)"
                }
            let given = state.withLock { state in
                state.operationResults.isEmpty ? nil : state.operationResults.removeFirst()
            }
            guard let given else { return Result { try reach(call) } }
            return given
        }
    }

    func list(_ app: BundleID, _ page: PageRequest) async throws -> Page<ChannelResource> {
        try reach("channels \(app) \(text(page))")
    }
    func channel(_ app: BundleID, _ id: ChannelID) async throws -> ChannelResource { try reach("channel \(app) \(id)") }
    func createChannel(
        _ app: BundleID,
        _ request: ChannelRequest,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<ChannelResource> {
        keep(idempotency)
        return try give("createChannel \(app)")
    }
    func delete(_ app: BundleID, _ id: ChannelID) async throws { try done("deleteChannel \(app) \(id)") }
    func reconcileChannels(
        _ app: BundleID,
        _ request: ReconcileRequest,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<ChannelReport> {
        keep(idempotency)
        return try give("reconcileChannels \(app) \(request.dryRun)")
    }

    func schedules(_ app: BundleID, state: ScheduleState?, _ page: PageRequest) async throws -> Page<ScheduleResource> {
        try reach("schedules \(app) \(state?.rawValue ?? "-") \(text(page))")
    }
    func schedule(_ app: BundleID, _ id: String) async throws -> ScheduleResource { try reach("schedule \(app) \(id)") }
    func cancelSchedule(_ app: BundleID, _ id: String) async throws { try done("cancelSchedule \(app) \(id)") }
    func runSchedule(_ app: BundleID, _ id: String) async throws -> ScheduleResource {
        try reach("runSchedule \(app) \(id)")
    }

    func events(
        matching filter: EventFilter,
        order: EventOrder,
        _ page: PageRequest
    ) async throws -> Page<EventResource> {
        try reach("events \(order == .newestFirst ? "newest " : "")\(Self.text(filter)) \(text(page))")
    }
    func eventPlace(_ text: String?) async throws -> EventCursor {
        try reach("eventPlace \(text ?? "-")")
    }
    func nextEvents(
        after place: EventCursor,
        matching filter: EventFilter,
        within patience: Duration
    ) async throws -> EventPage {
        let page = try state.withLock { state in
            state.patiences.append(patience)
            if let failure = state.failure { throw failure }
            state.calls.append("nextEvents after \(place) \(Self.text(filter))")
            return state.eventPages.isEmpty ? nil : state.eventPages.removeFirst()
        }
        if let page { return page }
        // Nothing happens any more; the daemon stops, or has stopped already.
        if state.withLock({ $0.holdsReaders }) { try await Task.sleep(for: .seconds(3_600)) }
        throw CancellationError()
    }

    private static func text(_ filter: EventFilter) -> String {
        let kinds = filter.kinds.map { $0.map(\.word).sorted().joined(separator: "+") }
        return [filter.app?.rawValue, filter.activity?.rawValue, filter.device?.rawValue, kinds]
            .map { $0 ?? "-" }.joined(separator: " ")
    }

    private func text(_ page: PageRequest) -> String { "\(page.limit) \(page.cursor ?? "-")" }
}

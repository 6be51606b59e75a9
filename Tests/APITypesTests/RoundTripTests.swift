import APITypes
import ActivityModel
import JSON
import ReportTypes
import Testing

private let time = Instant(microseconds: 1_671_375_600_123_456)
private let app = BundleID(stored: "com.example.matchday")
private let game = ActivityTypeName(stored: "GameAttributes")
private let match = ActivityID(stored: "match-1")
private let phone = DeviceID(stored: "phone-1")
private let fan = UserID(stored: "fan-1")
private let ajax = Topic(stored: "team:ajax")
private let channelID = ChannelID(stored: "0a0b0c0d-0000-4000-8000-000000000001")
private let apnsChannelID = APNSChannelID(stored: "dGVzdA==")
private let alert = AlertContent(
    title: .plain("Goal"),
    body: .localized(key: "GOAL", arguments: ["Messi"]),
    sound: "default"
)
private let pointer = JSONPointer(tokens: ["properties", "a"])
private let finding = SchemaFinding(
    part: .contentState,
    pointer: pointer,
    code: "date",
    message: "Say how it is decoded."
)
private let channel = ChannelReference(id: channelID, apnsChannelID: apnsChannelID, state: .ready)
private let schedule = ScheduleResource(
    id: "s",
    activityID: match,
    kind: .end,
    dueAt: time,
    state: .failed,
    reason: "activity_ended"
)

/// With every field.
private let timelineEntry = {
    var entry = TimelineEntry(at: time, kind: "push", text: "It was sent.")
    entry.deviceID = phone
    entry.revision = 9
    entry.event = "update"
    entry.urgency = .notable
    entry.hasAlert = true
    entry.mustDeliver = false
    entry.timestamp = 1_671_375_600
    entry.mergedInto = 10
    entry.budgetClass = "ordinary"
    entry.priority = 10
    entry.outcome = "accepted"
    entry.status = 200
    entry.reason = "Unregistered"
    entry.explanation = "An alert, 9 units are left."
    entry.apnsID = "id"
    entry.apnsUniqueID = "unique"
    entry.latencyMilliseconds = 12.5
    entry.delayMilliseconds = 1_250
    entry.segment = -1
    entry.counts = ["200": 7, "410 Unregistered": 1]
    return entry
}()

private func token(_ hex: String) throws -> PushToken { try #require(PushToken(hex: hex)) }

/// Each type once with every field and once with as few as it may have.
func samples() throws -> [any APIValue & Hashable] {
    let key = SigningKeyRequest(keyID: KeyID(stored: "ABCDEFGHIJ"), privateKey: "PEM")
    let team = TeamID(stored: "TEAM567890")
    let version = try #require(AppVersion("2.10"))
    let ios = try #require(OSVersion("18.1"))
    var policy = Policy()
    policy.idAttribute = "activityId"
    policy.revisionProperty = "revision"
    return [
        AppRequest(teamID: team, environments: [:]),
        AppRequest(
            teamID: team,
            channelsExclusive: true,
            channelPool: 9,
            environments: [.sandbox: key, .production: key]
        ),
        AppResource(
            bundleID: app,
            teamID: team,
            channelsExclusive: true,
            channelPool: 2,
            environments: [.sandbox: SigningKeyResource(keyID: key.keyID)],
            createdAt: time,
            updatedAt: time
        ),
        RegistrationTicketRequest(environment: .sandbox, deviceID: phone, ttlSeconds: 1),
        RegistrationTicketRequest(
            environment: .production,
            deviceID: phone,
            userID: fan,
            activities: [match],
            ttlSeconds: 86_400
        ),
        RegistrationTicketAnswer(ticket: "tally_ticket_a.b", expiresAt: time),
        TicketBatchRequest(tickets: [
            RegistrationTicketRequest(environment: .sandbox, deviceID: phone, ttlSeconds: 1)
        ]),
        TicketBatchAnswer(tickets: [RegistrationTicketAnswer(ticket: "tally_ticket_a.b", expiresAt: time)]),
        TicketKeyRequest(algorithm: .es256),
        TicketKeyResource(id: "k", algorithm: .hs256, createdAt: time),
        TicketKeyResource(id: "k", algorithm: .es256, createdAt: time, revokedAt: time, secret: "PEM"),
        WebhookRequest(url: "https://hooks.example.com"),
        WebhookRequest(
            url: "https://hooks.example.com",
            events: ["demoted"],
            secret: "whsec_x",
            isPaused: true,
            maxEvents: 7
        ),
        WebhookReplayRequest(since: time),
        WebhookResource(id: WebhookID(stored: "w"), url: "https://hooks.example.com", maxEvents: 100, createdAt: time),
        WebhookResource(
            id: WebhookID(stored: "w"),
            url: "https://hooks.example.com",
            events: ["demoted"],
            maxEvents: 7,
            pausedBecause: .unreachable,
            createdAt: time,
            deliveredAt: time,
            failingSince: time,
            lastError: "HTTP 500",
            nextTryAt: time,
            secret: "whsec_x"
        ),
        TicketRevocationRequest(revokedBefore: time),
        TicketRevocation(revokedBefore: time),
        RegistrationReceipt(deviceID: phone, receiptSampling: 0.01),
        RegistrationReceipt(deviceID: phone, activityID: match, stale: .installation, receiptSampling: 1),
        ReceiptsRequest(receipts: [CardReceipt(activityID: match, revision: 3)]),
        ReceiptsRequest(receipts: [CardReceipt(activityID: match, revision: 3, ageMilliseconds: 250)]),
        ReceiptsAnswer(deviceID: phone, receiptSampling: 0.5),
        PushRequest(to: .user(fan), pushType: .background),
        PushRequest(
            to: .token(try token("aabb"), .sandbox),
            pushType: .voip,
            aps: [:],
            custom: ["a": 1],
            priority: .one,
            expiresAt: time,
            collapseID: "goal"
        ),
        PushAnswer(pushID: "p", destinations: 2),
        AuditEntry(id: 1, at: time, keyID: "bootstrap", requestID: "r", action: "app_changed", subject: "s"),
        AuditEntry(
            id: 2,
            at: time,
            keyID: "k",
            keyName: "ops",
            requestID: "r",
            action: "type_changed",
            bundleID: app,
            subject: "s",
            before: ["version": 1],
            after: ["version": 2]
        ),
        DryRunAnswer(activityID: match, revision: 1, timestamp: 0, unchanged: true),
        DryRunAnswer(activityID: match, revision: 1, timestamp: nil, unchanged: true),
        DryRunAnswer(
            activityID: match,
            revision: 2,
            timestamp: 1_671_375_600,
            at: time,
            audience: AudienceCounts(devices: 2, unknownUsers: 1),
            withheld: ["no_start_token": 1],
            isHalted: true,
            pushes: [
                PlannedPush(
                    event: .update,
                    to: .updateTokens,
                    destinations: 2,
                    budgetClass: "frequent",
                    priority: .ten,
                    reason: "alert",
                    explanation: "An alert, 9 units are left.",
                    path: "/3/device/{token}",
                    headers: ["apns-priority": "10"],
                    bytes: 2,
                    body: [:]
                )
            ]
        ),
        TypeRequest(source: .swift("struct A {}")),
        TypeRequest(
            source: .schemas(attributes: true, contentState: ["type": "object"]),
            policy: policy,
            minAppVersion: version
        ),
        TypeRegistration(
            version: 2,
            changed: true,
            lint: [finding],
            compatibility: SchemaCompatibility(compatible: false, findings: [finding])
        ),
        TypeResource(
            name: game,
            version: 1,
            attributesSchema: [:],
            contentStateSchema: false,
            policy: policy,
            minAppVersion: version,
            createdAt: time,
            updatedAt: time
        ),
        TypeVersionResource(version: 1, attributesSchema: [:], contentStateSchema: [:], createdAt: time),
        ValidationRequest(attributes: ["a": 1]),
        ValidationAnswer(
            valid: false,
            errors: [FieldError(pointer: pointer, code: "type", message: "No.", schemaVersion: 1)],
            bytes: .init(attributes: 7, contentState: 9, together: 16),
            lint: [finding]
        ),
        DeviceRequest(environment: .production),
        DeviceRequest(environment: .production, user: .nobody),
        DeviceRequest(
            environment: .sandbox,
            user: .user(fan),
            osVersion: ios,
            appVersion: version,
            activitiesEnabled: false,
            frequentPushesEnabled: true,
            deviceToken: try token("abcd"),
            startTokens: [game: StartTokenRequest(token: try token("0123"), generation: 4)],
            installation: "first",
            topics: [ajax]
        ),
        DeviceResource(
            deviceID: phone,
            environment: .production,
            activitiesEnabled: false,
            frequentPushesEnabled: false,
            createdAt: time,
            updatedAt: time
        ),
        DeviceResource(
            deviceID: phone,
            environment: .sandbox,
            userID: fan,
            osVersion: ios,
            appVersion: version,
            activitiesEnabled: true,
            frequentPushesEnabled: false,
            deviceToken: try token("abcdef").description,
            deviceTokenState: .rejected,
            startTokens: [
                game: StartTokenResource(
                    token: try token("012345").description,
                    generation: 4,
                    state: .rejected,
                    registeredAt: time
                )
            ],
            createdAt: time,
            updatedAt: time
        ),
        Audience(),
        Audience(users: [fan], devices: [phone], allOfType: true),
        Audience(topics: [ajax], topicsAll: [ajax], exceptTopics: [ajax]),
        TopicsRequest.whole([]),
        TopicsRequest.whole([ajax]),
        TopicsRequest.change(add: [], remove: [ajax]),
        TopicsRequest.change(add: [ajax], remove: []),
        TopicsRequest.change(add: [], remove: []),
        FollowedTopics(topics: [ajax]),
        TopicResource(topic: ajax, users: 2, devices: 1),
        AudiencePage(allOfType: false, topics: [AudienceTopic(topic: ajax, exceptTopics: [ajax])], items: []),
        AudienceRequest(remove: Audience(devices: [phone])),
        AudienceRequest(add: Audience(users: [fan]), remove: Audience(devices: [phone]), alert: alert),
        StartRequest(type: game, attributes: [:], contentState: [:]),
        StartRequest(
            type: game,
            attributes: ["homeTeam": "Argentina"],
            contentState: ["homeScore": 3],
            environment: .sandbox,
            audience: Audience(allOfType: true),
            delivery: .channel,
            alert: alert,
            urgency: .critical,
            startsAt: time,
            endsAt: Instant(microseconds: time.microseconds + 1),
            staleAfterSeconds: 60,
            relevanceScore: 0.5
        ),
        StartAnswer(
            activityID: match,
            state: .live,
            revision: 1,
            timestamp: 1_671_375_600,
            channel: channel,
            audience: AudienceCounts(devices: 5, unknownUsers: 1)
        ),
        StartAnswer(
            activityID: match,
            state: .scheduled,
            revision: 1,
            timestamp: nil,
            channel: ChannelReference(id: channelID, apnsChannelID: nil, state: .creating),
            audience: AudienceCounts(devices: 0, unknownUsers: 0)
        ),
        StartAnswer(
            activityID: match,
            state: .live,
            revision: 1,
            timestamp: nil,
            audience: AudienceCounts(devices: 0, unknownUsers: 0)
        ),
        UpdateRequest(contentState: [:]),
        UpdateRequest(
            contentState: ["homeScore": 1],
            alert: alert,
            urgency: .notable,
            mustDeliver: true,
            staleAfterSeconds: 0,
            relevanceScore: 100,
            eventTime: time,
            at: time,
            force: true
        ),
        EndRequest(),
        EndRequest(contentState: [:], dismissal: .after(seconds: 0), alert: alert, at: time),
        EndRequest(dismissal: .at(time)),
        ChangeAnswer.accepted(activityID: match, revision: 2, timestamp: nil, unchanged: false),
        ChangeAnswer.accepted(activityID: match, revision: 2, timestamp: 7, unchanged: true),
        ChangeAnswer.scheduled(scheduleID: "s"),
        ActivityResource(
            activityID: match,
            type: game,
            environment: .production,
            state: .ended,
            revision: 46,
            timestamp: 7,
            delivery: .hybrid,
            contentState: ["homeScore": 3],
            attributes: ["homeTeam": "Argentina"],
            createdAt: time,
            startedAt: time,
            endedAt: time,
            startsAt: time,
            endsAt: time,
            channel: channel,
            progress: DeliveryProgress(
                destinations: 9,
                current: 4,
                pending: 2,
                waitingForToken: 1,
                waitingToBegin: 2,
                dead: 1,
                withheld: 1
            ),
            starts: StartProgress(
                enrolling: true,
                pending: 1,
                sent: 2,
                unanswered: 3,
                confirmed: 4,
                repeated: 5,
                withheld: 6,
                failed: 7,
                reasons: ["start_budget": 6, "400 BadDeviceToken": 7]
            ),
            schedules: [schedule]
        ),
        ActivityResource(
            activityID: match,
            type: game,
            environment: .production,
            state: .scheduled,
            revision: 1,
            timestamp: nil,
            delivery: .tokens,
            contentState: [:],
            attributes: [:],
            createdAt: time,
            channel: ChannelReference(id: channelID, apnsChannelID: nil, state: .creating),
            progress: DeliveryProgress(),
            starts: StartProgress()
        ),
        SubscriptionRequest(.updateToken(try token("abcd")), generation: 2, knownRevision: 0, installation: "first"),
        SubscriptionRequest(
            .channelID(apnsChannelID),
            activityKitID: "A-1",
            environment: .sandbox,
            osVersion: ios,
            appVersion: version
        ),
        SubscriptionRequest(.updateToken(try token("abcd")), isPending: true),
        SubscriptionRequest(.channel),
        SubscriptionRequest(.ended),
        SubscriptionAnswer(
            activityID: match,
            deviceID: phone,
            mode: .token,
            state: .riding,
            revision: 3,
            activityState: .live
        ),
        SubscriptionAnswer(
            activityID: match,
            deviceID: phone,
            mode: .channel,
            state: .over,
            revision: 3,
            activityState: .ended,
            stale: .generation
        ),
        ChannelRequest(),
        ChannelRequest(environment: .sandbox, storage: .none),
        ChannelResource(
            id: channelID,
            apnsChannelID: nil,
            environment: .sandbox,
            storage: .none,
            state: .creating,
            createdAt: time
        ),
        ChannelResource(
            id: channelID,
            apnsChannelID: apnsChannelID,
            environment: .sandbox,
            storage: .mostRecent,
            state: .deleted,
            activityID: match,
            createdAt: time,
            deleteAt: time,
            deletedAt: time
        ),
        ChannelResource(
            id: channelID,
            apnsChannelID: apnsChannelID,
            environment: .production,
            storage: .mostRecent,
            state: .lost,
            createdAt: time,
            lostAt: time,
            reason: "400 ChannelNotRegistered"
        ),
        DoctorRequest(),
        DoctorRequest(bundleID: BundleID(stored: "com.example"), environment: .sandbox, triesChannels: true),
        DoctorReport(
            checkedAt: time,
            checks: [
                DoctorCheck("clock", .ok, "fine"),
                DoctorCheck("apns", of: "production device", .broken, "No connection.", advice: "Look."),
            ]
        ),
        ReconcileRequest(),
        ReconcileRequest(environment: .sandbox, dryRun: true),
        ChannelReport(environment: .sandbox, dryRun: true, atApple: 0, known: 0, unused: 0, creating: 1),
        ChannelReport(
            environment: .production,
            dryRun: false,
            atApple: 3,
            known: 2,
            unused: 1,
            creating: 0,
            findings: [
                ChannelFinding(
                    kind: .lost,
                    action: .replace,
                    isDone: true,
                    apnsChannelID: apnsChannelID,
                    channelID: channelID,
                    activityID: match
                ),
                ChannelFinding(
                    kind: .unknown,
                    action: .delete,
                    apnsChannelID: apnsChannelID,
                    firstSeenAt: time,
                    deleteAt: time,
                    reason: "503 ServiceUnavailable"
                ),
            ]
        ),
        schedule,
        Verdict("sent", "Sent."), TimelineEntry(at: time, kind: "lost", text: "Lost."), timelineEntry,
        TimelineAnswer(
            activityID: match,
            state: .live,
            revision: 1,
            verdict: Verdict("sent", "Sent."),
            page: Page(items: [])
        ),
        TimelineAnswer(
            activityID: match,
            deviceID: phone,
            state: .ended,
            revision: 9,
            verdict: Verdict("sent", "Sent."),
            page: Page(items: [timelineEntry], nextCursor: "abc")
        ),
        Page(items: [schedule], nextCursor: "next"),
        SubscriptionResource(
            deviceID: phone,
            mode: .token,
            state: .due,
            reason: "InternalServerError",
            revision: 9,
            updateToken: PushToken(hex: "7d1e55aa")?.description,
            startedAt: time,
            registeredAt: time,
            dueAt: time,
            pendingSince: time,
            shownRevision: 8,
            shownAt: time
        ),
        Page<ScheduleResource>(items: []),
        APIKeyRequest(name: "backend", scopes: [.publish, .register], bundleID: app, expiresAt: time),
        APIKeyResource(
            id: "k",
            name: "backend",
            scopes: [.read],
            bundleID: app,
            createdAt: time,
            expiresAt: time,
            lastUsedAt: time,
            revokedAt: time,
            secret: "s"
        ),
    ]
}

@Suite("JSON forms")
struct RoundTripTests {
    @Test("every request and answer is read as it was written")
    func roundTrips() throws {
        for sample in try samples() {
            try expectRoundTrip(sample)
        }
    }

    private func expectRoundTrip<Value: APIValue & Hashable>(_ value: Value) throws {
        let text = value.json.text
        let read = try Value(json: JSONValue(parsing: text))
        #expect(read == value, "\(Value.self): \(text)")
        #expect(read.json.text == text)
    }

    @Test("a timestamp that is not known yet is null and not absent")
    func timestampIsNull() {
        let answer = ChangeAnswer.accepted(activityID: match, revision: 2, timestamp: nil, unchanged: false)
        #expect(answer.json.text == #"{"activity_id":"match-1","revision":2,"timestamp":null}"#)
    }

    @Test("scopes are kept in one order, each once")
    func scopesAreOrdered() throws {
        let request = try APIKeyRequest(json: ["name": "a", "scopes": ["read", "publish", "read"]])
        #expect(request.scopes == [.publish, .read])
    }
}

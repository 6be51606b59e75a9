import APITypes
import APNSTransport
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import TestSupport
import Testing

@testable import Orchestrator

/// Why a phone shows nothing new, or nothing at all, and nobody was told.
enum SilentFailure: String, CaseIterable, Sendable {
    case neverRegistered = "the app never registered"
    case deviceDeleted = "the backend deleted the device"
    case notInAudience = "not in the audience"
    case takenOut = "taken out of the audience before the start"
    case otherEnvironment = "a build for the other environment"
    case reinstalled = "reinstalled as a build for the other environment"
    case noStartToken = "no start token was reported"
    case oldSystem = "iOS before 17.2"
    case switchedOff = "Live Activities are switched off"
    case startBudget = "too many starts within the window"
    case startRefused = "APNs refused the start"
    case startUnanswered = "no answer came to the start"
    case startUnreported = "started, and the app reported no token"
    case oldApp = "the app cannot decode the newest state"
    case deadToken = "the update token is dead"
    case rejectedToken = "the update token belongs elsewhere"
    case busyAPNs = "APNs asks to come again later"
    case pushRefused = "APNs refused the newest push"
    case dismissed = "the user swiped the card away"
    case tokenMoved = "another device reported the same token"
    case expired = "the card is older than eight hours"
    /// APNs accepts pushes to a token that no card has any more. The server sees no difference to a card that shows them.
    case staleToken = "APNs accepts the push, and no card has the token"

    /// The code of the verdict that names it; nil: there is none.
    var code: String? {
        switch self {
        case .neverRegistered, .deviceDeleted: "unknown_device"
        case .notInAudience, .takenOut: "not_followed"
        case .otherEnvironment, .reinstalled: "other_environment"
        case .noStartToken, .oldSystem, .switchedOff, .startBudget: "withheld"
        case .startRefused: "start_failed"
        case .startUnanswered: "start_unknown"
        case .startUnreported: "waiting_for_token"
        case .oldApp: "incompatible_version"
        case .deadToken: "token_dead"
        case .rejectedToken: "token_rejected"
        case .busyAPNs: "retrying"
        case .pushRefused: "refused"
        case .dismissed: "card_gone"
        case .tokenMoved: "token_moved"
        case .expired: "expired"
        case .staleToken: nil
        }
    }

    /// What the text must say where one code stands for several causes.
    var words: String {
        switch self {
        case .noStartToken: "no start token"
        case .oldSystem: "before 17.2"
        case .switchedOff: "switched Live Activities off"
        case .startBudget: "within the window are used up"
        default: ""
        }
    }

    /// Whether a backend wants the card started by push.
    var isWanted: Bool {
        switch self {
        case .neverRegistered, .deviceDeleted, .notInAudience, .oldApp, .tokenMoved, .expired: false
        default: true
        }
    }

    /// Whether a card was there and had a token before it failed.
    var hadCard: Bool {
        switch self {
        case .reinstalled, .deadToken, .rejectedToken, .busyAPNs, .pushRefused, .dismissed, .tokenMoved, .staleToken,
            .deviceDeleted:
            true
        default: false
        }
    }
}

/// Lives of phones that fail silently, each in its own way. Chance decides on what does not matter: the version of iOS, whether
/// the token has changed before, who is signed in.
struct ExplainLives {
    let world: World
    private let lives: [Life]

    struct Life: Sendable {
        let number: Int
        let failure: SilentFailure
        let os: String
        let user: String?
        let isFrequent: Bool
        let hasRotated: Bool

        var device: String { "d\(number)" }
        var startToken: String { token("5a") }
        var updateToken: String { token("aa") }

        func token(_ prefix: String) -> String {
            let digits = String(number)
            return prefix + String(repeating: "0", count: 8 - digits.count) + digits
        }
    }

    init(in world: World, count: Int, seed: UInt64) {
        self.world = world
        var random = SeededRandom(seed: seed)
        lives = (0..<count).map { number in
            Life(
                number: number,
                failure: SilentFailure.allCases[number % SilentFailure.allCases.count],
                os: ["17.4", "18.1", "26.0"].randomElement(using: &random) ?? "18.1",
                user: Bool.random(using: &random) ? "user-\(number % 97)" : nil,
                isFrequent: Bool.random(using: &random),
                hasRotated: Bool.random(using: &random)
            )
        }
    }

    private func each(
        where condition: @escaping @Sendable (Life) -> Bool,
        _ body: @escaping @Sendable (Life) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, life) in lives.filter(condition).enumerated() {
                if place >= 16 { _ = try await group.next() }
                group.addTask { try await body(life) }
            }
            try await group.waitForAll()
        }
    }

    private func devices(where condition: (Life) -> Bool) -> Audience {
        Audience(devices: lives.filter(condition).map { DeviceID(stored: $0.device) })
    }

    /// Lives until all have failed.
    func run() async throws {
        try await world.addSandbox()
        try await world.registerVersion()
        try await ageing()
        try await each(where: { $0.failure != .neverRegistered && $0.failure != .expired }, register)
        try await spendStartBudgets()
        try await start()
        try await each(where: \.failure.hadCard, follow)
        try await world.settle()
        try await world.updateBoth(score: 1, alert: "Messi")
        try await world.settle()
        try await each(where: { _ in true }, fail)
        try await world.updateNew(2, alert: "Mbappé")
        try await world.settle()
        try await each(where: { $0.failure == .oldApp }) { life in
            try await world.install("1.4", on: life.device)
            try await world.follow(life.device, token: life.updateToken)
        }
        try await world.settle()
    }

    /// Cards of another activity, more than eight hours ago.
    private func ageing() async throws {
        try await world.start("long", alert: nil) { $0.contentState["clock"] = "45:00" }
        try await each(where: { $0.failure == .expired }) { life in
            try await register(life)
            try await world.follow(life.device, token: life.updateToken, in: "long")
        }
        try await world.settle()
        try await world.pass(9 * 3_600)
        while try await world.watchCards() > 0 {}
    }

    private func register(_ life: Life) async throws {
        let failure = life.failure
        var request = DeviceRequest(environment: failure == .otherEnvironment ? .sandbox : .production)
        request.user = ReportedUser(known: life.user.map { UserID(stored: $0) })
        request.osVersion = OSVersion(failure == .oldSystem ? "16.4" : life.os)
        request.appVersion = AppVersion(failure == .oldApp ? "1.4" : "2.1")
        request.frequentPushesEnabled = life.isFrequent
        request.activitiesEnabled = failure != .switchedOff
        if failure != .noStartToken {
            request.startTokens = [
                World.game: StartTokenRequest(token: try #require(PushToken(hex: life.startToken)))
            ]
        }
        _ = try await world.orchestrator.intake.putDevice(world.app, DeviceID(stored: life.device), request)
    }

    /// The policy lets two start.
    private func spendStartBudgets() async throws {
        for id in ["one", "two"] {
            try await world.start(id, to: devices { $0.failure == .startBudget }) {
                $0.contentState["clock"] = "45:00"
            }
            try await world.settle()
        }
    }

    private func start() async throws {
        for life in lives {
            switch life.failure {
            case .startRefused:
                world.recorder.answer(
                    life.startToken,
                    with: PushOutcome(.requestInvalid, status: 400, reason: "BadPath")
                )
            case .startUnanswered: world.recorder.answer(life.startToken, with: .noAnswer)
            default: break
            }
        }
        try await world.start(to: devices(where: \.failure.isWanted)) { $0.contentState["clock"] = "45:00" }
        let taken = devices { $0.failure == .takenOut }
        if !taken.devices.isEmpty {
            _ = try await world.orchestrator.intake.changeAudience(
                world.app,
                ActivityID(stored: "final"),
                AudienceRequest(remove: taken)
            )
        }
        try await world.settle()
    }

    private func follow(_ life: Life) async throws {
        if life.hasRotated { try await world.follow(life.device, token: life.token("bb"), generation: 1) }
        try await world.follow(life.device, token: life.updateToken, generation: 2)
    }

    private func fail(_ life: Life) async throws {
        let token = life.updateToken
        switch life.failure {
        case .deadToken: world.recorder.answer(token, with: .unregistered(at: nil))
        case .rejectedToken: world.recorder.answer(token, with: .badToken)
        case .busyAPNs: world.recorder.answer(token, with: .tooMany)
        case .pushRefused:
            world.recorder.answer(token, with: PushOutcome(.requestInvalid, status: 400, reason: "BadPath"))
        case .dismissed: try await world.report(life.device, .ended, generation: 3)
        case .tokenMoved:
            try await world.install("2.1", on: "other-\(life.device)")
            try await world.follow("other-\(life.device)", token: token)
        case .reinstalled:
            try await world.register(life.device, token: life.token("cc"), os: life.os, on: .sandbox)
        case .deviceDeleted:
            try await world.orchestrator.deleteDevice(world.app, DeviceID(stored: life.device))
        default: break
        }
    }

    /// What `explain` says of each life.
    func answers() async throws -> [ExplainMatrix.Answer] {
        try await world.writeTimeline()
        var answers: [ExplainMatrix.Answer] = []
        for life in lives {
            let verdict = try await world.orchestrator.timeline(
                world.app,
                ActivityID(stored: life.failure == .expired ? "long" : "final"),
                device: DeviceID(stored: life.device),
                PageRequest(limit: 1)
            ).verdict
            answers.append(.init(failure: life.failure, code: verdict.code, text: verdict.text))
        }
        return answers
    }
}

/// Which causes `explain` named.
struct ExplainMatrix {
    struct Answer: Sendable {
        let failure: SilentFailure
        let code: String
        let text: String

        var isRight: Bool { code == failure.code && text.contains(failure.words) }
    }

    let answers: [Answer]

    /// How many of the lives were explained rightly, from 0 to 1.
    var share: Double { Double(answers.count { $0.isRight }) / Double(max(answers.count, 1)) }

    /// The lives of a failure by the code that they were given.
    func codes(of failure: SilentFailure) -> [String: Int] {
        answers.filter { $0.failure == failure }.reduce(into: [:]) { $0[$1.code, default: 0] += 1 }
    }

    /// A table in Markdown, with a line for each failure.
    var table: String {
        let lines = SilentFailure.allCases.map { failure in
            let codes = codes(of: failure).sorted { $0.value > $1.value }.map { "`\($0.key)` \($0.value)" }
            let mine = answers.filter { $0.failure == failure }
            let right = mine.count { $0.isRight }
            return "| \(failure.rawValue) | \(mine.count) | \(codes.joined(separator: ", ")) | \(right) |"
        }
        return (["| what happened | lives | verdicts | named |", "|---|---:|---|---:|"] + lines).joined(separator: "\n")
    }
}

import APITypes
import ActivityModel
import DeliveryStore
import JSON
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Intake
@testable import Orchestrator
@testable import Registry
@testable import Store

@Suite("Audiences by topic", .timeLimit(.minutes(2)))
struct TopicAudienceTests {
    private static let final = ActivityID(stored: "final")
    /// Two members, or two devices, or two followers.
    private static let stretches = OrchestratorSettings {
        $0.lease = .seconds(600)
        $0.stretchSize = 2
    }

    private static func audience(_ topics: String..., all: [String] = [], except: [String] = []) -> Audience {
        Audience(
            topics: topics.map { Topic(stored: $0) },
            topicsAll: all.map { Topic(stored: $0) },
            exceptTopics: except.map { Topic(stored: $0) }
        )
    }

    private func follow(_ topics: String..., device: String, in world: World) async throws {
        try await put(topics, of: .device(DeviceID(stored: device)), in: world)
    }

    private func follow(_ topics: String..., user: String, in world: World) async throws {
        try await put(topics, of: .user(UserID(stored: user)), in: world)
    }

    private func put(_ topics: [String], of follower: UserOrDevice, in world: World) async throws {
        let request = TopicsRequest.whole(topics.map { Topic(stored: $0) })
        _ = try await world.orchestrator.putTopics(world.app, of: follower, request)
    }

    /// Works on the starts until nothing is due, and says where each went to that has left since the last call.
    private func sent(in world: World, _ event: String = "start") async throws -> [String] {
        try await world.settle()
        return world.recorder.take().filter { $0.event == event }.map(\.destination).sorted()
    }

    private func change(_ request: AudienceRequest, in world: World) async throws -> AudienceCounts {
        try await world.orchestrator.intake.changeAudience(world.app, Self.final, request).answer
    }

    @Test("All followers are started, once each, however they follow; a dry run and the answer count them")
    func start() async throws {
        try await withWorld(settings: Self.stretches) { world in
            for number in 1...6 {
                try await world.register("d\(number)", token: "5a0\(number)", user: number > 3 ? "u\(number)" : nil)
            }
            try await world.register("d7", token: "5a07", user: "u6")
            try await follow("ajax", device: "d1", in: world)
            try await follow("ajax", "psv", device: "d2", in: world)
            try await follow("other", device: "d3", in: world)
            try await follow("ajax", user: "u4", in: world)
            try await follow("psv", user: "u5", in: world)
            try await follow("ajax", "psv", user: "u6", in: world)
            // By itself and by its user.
            try await follow("ajax", device: "d7", in: world)
            var audience = Self.audience("ajax", "psv", "unknown")
            audience.devices = [DeviceID(stored: "d2")]
            audience.users = [UserID(stored: "u5")]
            let planned = try await world.orchestrator.intake.dryRunStart(
                world.app,
                Self.final,
                StartRequest(
                    type: World.game,
                    attributes: JSONObject([("home", .string("Argentina"))]),
                    contentState: World.state(0),
                    audience: audience,
                    alert: World.alert("Kick-off")
                )
            )
            #expect(planned.audience?.devices == 6)
            let started = try await world.start(to: audience)
            #expect(started.answer.audience.devices == 6)
            #expect(try await sent(in: world) == ["5a01", "5a02", "5a04", "5a05", "5a06", "5a07"])
            #expect(try await !world.show().starts.enrolling)
            #expect(try await world.show().starts.repeated == 0)
        }
    }

    @Test("Followers must follow all of some topics, and none of others; who is named is started all the same")
    func narrowing() async throws {
        try await withWorld(settings: Self.stretches) { world in
            for number in 1...5 { try await world.register("d\(number)", token: "5a0\(number)", user: "u\(number)") }
            try await follow("ajax", device: "d1", in: world)
            try await follow("ajax", "premium", device: "d2", in: world)
            try await follow("ajax", "premium", device: "d3", in: world)
            try await follow("muted", user: "u3", in: world)
            try await follow("ajax", device: "d4", in: world)
            try await follow("premium", user: "u4", in: world)
            try await follow("premium", user: "u5", in: world)
            var audience = Self.audience("ajax", all: ["premium"], except: ["muted"])
            #expect(try await world.start(to: audience).answer.audience.devices == 2)
            #expect(try await sent(in: world) == ["5a02", "5a04"])
            audience = Self.audience("none", all: ["premium"])
            audience.devices = [DeviceID(stored: "d1")]
            #expect(try await change(AudienceRequest(add: audience), in: world).devices == 3)
            #expect(try await sent(in: world) == ["5a01"])
            let page = try await world.orchestrator.audience(world.app, Self.final, PageRequest())
            #expect(page.topics.map(\.topic.rawValue) == ["ajax", "none"])
            #expect(page.topics.first?.exceptTopics == [Topic(stored: "muted")])
            #expect(page.items.map(\.name) == [.device(DeviceID(stored: "d1"))])
        }
    }

    @Test("Topics that narrow nothing are refused; so is narrowing what is removed, and the 201st topic of an audience")
    func refused() async throws {
        for name in ["topics_all", "except_topics"] {
            for topics: JSONValue in [.null, []] {
                #expect(throws: Problem.self) { try Audience(json: .object([name: ["a"], "topics": topics])) }
            }
            #expect(throws: Problem.self) {
                try AudienceRequest(json: ["remove": .object(["topics": ["b"], name: ["a"]])])
            }
        }
        try await withWorld { world in
            try await world.start(to: Audience(topics: (1...200).map { Topic(stored: "t\($0)") }))
            let again = AudienceRequest(add: Self.audience("t200"))
            _ = try await change(again, in: world)
            await #expect(throws: Problem.self) {
                try await change(AudienceRequest(add: Self.audience("x")), in: world)
            }
            let page = try await world.orchestrator.audience(world.app, Self.final, PageRequest())
            #expect(page.topics.count == 200)
        }
    }

    @Test("Who follows during the match is started before the answer, and so is a device that registers with topics")
    func during() async throws {
        try await withWorld { world in
            for number in 1...3 { try await world.register("d\(number)", token: "5a0\(number)", user: "u\(number)") }
            try await follow("muted", user: "u3", in: world)
            try await world.start(to: Self.audience("ajax", except: ["muted"]))
            #expect(try await sent(in: world) == [])
            try await follow("ajax", device: "d1", in: world)
            try await follow("ajax", user: "u2", in: world)
            try await follow("ajax", "muted", user: "u3", in: world)
            #expect(try await sent(in: world) == ["5a01", "5a02"])
            try await follow("ajax", user: "u3", in: world)
            #expect(try await sent(in: world) == ["5a03"])
            // A second phone of a user who follows.
            try await world.register("d4", token: "5a04", user: "u2")
            var request = DeviceRequest(environment: .production, osVersion: OSVersion("18.1"))
            request.startTokens = [World.game: StartTokenRequest(token: try #require(PushToken(hex: "5a05")))]
            request.topics = [Topic(stored: "ajax")]
            _ = try await world.orchestrator.intake.putDevice(world.app, DeviceID(stored: "d5"), request)
            #expect(try await sent(in: world) == ["5a04", "5a05"])
        }
    }

    @Test(
        "A device that registers is started whether it, or its user, follows, and whether few or many topics are named",
        arguments: [1, 2, 15, 16, 17, 200]
    )
    func named(count: Int) async throws {
        try await withWorld { world in
            try await follow("t0", "zurich", user: "u2", in: world)
            try await follow("t0", "berne", user: "u3", in: world)
            let others = (1..<count).map { Topic(stored: "t\($0)") }
            try await world.start(to: Audience(topics: others + [Topic(stored: "zurich")]))
            for number in 1...4 {
                var request = DeviceRequest(environment: .production, osVersion: OSVersion("18.1"))
                request.user = .user(UserID(stored: "u\(number)"))
                let token = try #require(PushToken(hex: "5a0\(number)"))
                request.startTokens = [World.game: StartTokenRequest(token: token)]
                if number == 1 { request.topics = ["berne", "t0", "zurich"].map { Topic(stored: $0) } }
                if number == 4 { request.topics = ["berne", "t0"].map { Topic(stored: $0) } }
                _ = try await world.orchestrator.intake.putDevice(world.app, DeviceID(stored: "d\(number)"), request)
            }
            #expect(try await sent(in: world) == ["5a01", "5a02"])
        }
    }

    @Test("A start that waits does not leave once its device does not follow any more, and does when it follows again")
    func unfollowed() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await follow("ajax", device: "d1", in: world)
            world.recorder.answer("5a01", with: .tooMany)
            try await world.start(to: Self.audience("ajax"))
            #expect(try await sent(in: world) == ["5a01"])
            try await follow(device: "d1", in: world)
            try await world.pass(31)
            #expect(try await sent(in: world) == [])
            #expect(try await world.startState("d1") == "cancelled")
            try await follow("ajax", device: "d1", in: world)
            #expect(try await sent(in: world) == ["5a01"])
        }
    }

    @Test(
        "By policy the card of somebody who does not follow any more stays, or ends; so for who is left out from now on",
        arguments: [OnUnfollow.keep, .end],
        [false, true]
    )
    func policy(onUnfollow: OnUnfollow, isLeftOut: Bool) async throws {
        try await withWorld(policy: { $0.onUnfollow = onUnfollow }, settings: Self.stretches) { world in
            for number in 1...5 {
                try await world.register("d\(number)", token: "5a0\(number)", user: "ada")
            }
            try await world.register("other", token: "5b01", user: "bob")
            try await follow("ajax", user: "ada", in: world)
            try await follow("ajax", user: "bob", in: world)
            var audience = Self.audience("ajax", except: ["muted"])
            audience.devices = [DeviceID(stored: "d5")]
            try await world.start(to: audience)
            #expect(try await sent(in: world).count == 6)
            for number in 1...5 { try await world.follow("d\(number)", token: "aa0\(number)") }
            try await world.follow("other", token: "bb01")
            try await world.settle()
            _ = world.recorder.take()
            if isLeftOut {
                try await follow("ajax", "muted", user: "ada", in: world)
            } else {
                try await follow("psv", user: "ada", in: world)
            }
            let ended = onUnfollow == .end ? ["aa01", "aa02", "aa03", "aa04"] : []
            #expect(try await sent(in: world, "end") == ended)
            try await world.update(score: 1)
            let updated = ["aa01", "aa02", "aa03", "aa04"].filter { !ended.contains($0) } + ["aa05", "bb01"]
            #expect(try await sent(in: world, "update") == updated)
            // Who comes back gets a new card.
            try await follow("ajax", user: "ada", in: world)
            #expect(try await sent(in: world) == (onUnfollow == .end ? ["5a01", "5a02", "5a03", "5a04"] : []))
        }
    }

    @Test("Who follows again before the card has ended gets a new one")
    func backBeforeTheEnd() async throws {
        try await withWorld(policy: { $0.onUnfollow = .end }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", user: "ada", in: world)
            try await world.start(to: Self.audience("ajax"))
            #expect(try await sent(in: world) == ["5a01"])
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            _ = world.recorder.take()
            try await follow("psv", user: "ada", in: world)
            try await follow("ajax", user: "ada", in: world)
            try await world.database.withConnection { connection in
                try await connection.executeScript(
                    """
                    CREATE TABLE steps (name text, transaction xid8);
                    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN INSERT INTO steps VALUES (TG_TABLE_NAME, pg_current_xact_id()); RETURN NULL; END $$;
                    CREATE TRIGGER forgotten AFTER DELETE ON subscriptions FOR EACH ROW EXECUTE FUNCTION note();
                    CREATE TRIGGER wanted AFTER UPDATE ON starts FOR EACH ROW
                        WHEN (OLD.state = 'cancelled' AND NEW.state = 'pending') EXECUTE FUNCTION note();
                    """
                )
            }
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == ["aa01", "5a01"])
            #expect(pushes.map(\.event) == ["end", "start"])
            // Both at once: whatever fails, the new card is not forgotten.
            #expect(try await world.number("SELECT count(*) FROM steps") == 2)
            #expect(try await world.number("SELECT count(DISTINCT transaction) FROM steps") == 1)
        }
    }

    @Test(
        "By policy a card whose start is on its way at the unfollow ends when it reports its token, unless its device is back",
        arguments: [OnUnfollow.keep, .end],
        [false, true]
    )
    func onItsWay(onUnfollow: OnUnfollow, isBack: Bool) async throws {
        try await withWorld(policy: { $0.onUnfollow = onUnfollow }) { world in
            for number in 1...2 {
                try await world.register("d\(number)", token: "5a0\(number)", user: number == 1 ? "ada" : "bob")
            }
            for user in ["ada", "bob"] { try await follow("ajax", user: user, in: world) }
            let gate = world.recorder.close()
            try await world.start(to: Self.audience("ajax"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await world.settle() }
                await gate.arrivals()
                try await follow("psv", user: "ada", in: world)
                if isBack { try await follow("ajax", user: "ada", in: world) }
                world.recorder.open()
                try await group.waitForAll()
            }
            #expect(try await sent(in: world) == ["5a01", "5a02"])
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)") }
            #expect(try await sent(in: world, "end") == (onUnfollow == .end && !isBack ? ["aa01"] : []))
            try await world.update(score: 1)
            let updated = onUnfollow == .end && !isBack ? ["aa02"] : ["aa01", "aa02"]
            #expect(try await sent(in: world, "update") == updated)
        }
    }

    /// Starts the final for the followers of Ajax, and lets Ada stop following while the push to her phone is on its way.
    private func unfollowOnTheWay(
        in world: World,
        _ meanwhile: @Sendable @escaping () async throws -> Void = {}
    ) async throws {
        let gate = world.recorder.close()
        try await world.start(to: Self.audience("ajax"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await world.settle() }
            await gate.arrivals()
            try await follow("psv", user: "ada", in: world)
            try await meanwhile()
            world.recorder.open()
            try await group.waitForAll()
        }
        try await world.settle()
    }

    @Test(
        "By policy a card ends if its device stopped following before APNs answered its start, also if it is reported first",
        arguments: [OnUnfollow.keep, .end]
    )
    func reportedBeforeTheAnswer(onUnfollow: OnUnfollow) async throws {
        try await withWorld(policy: { $0.onUnfollow = onUnfollow }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", user: "ada", in: world)
            try await unfollowOnTheWay(in: world) { try await world.follow("d1", token: "aa01") }
            let ended = onUnfollow == .end ? ["aa01"] : []
            #expect(world.recorder.take().map(\.destination) == ["5a01"] + ended)
            let card = try await world.subscription("d1")
            #expect((card == nil) == (onUnfollow == .end))
            try await follow("ajax", user: "ada", in: world)
            #expect(try await sent(in: world) == (onUnfollow == .end ? ["5a01"] : []))
        }
    }

    @Test(
        "By policy a card ends if its device stopped following after a start without an answer, and is not back",
        arguments: [OnUnfollow.keep, .end],
        [false, true]
    )
    func lostAnswer(onUnfollow: OnUnfollow, isBack: Bool) async throws {
        let ends = onUnfollow == .end && !isBack
        try await withWorld(policy: { $0.onUnfollow = onUnfollow }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", user: "ada", in: world)
            world.recorder.answer("5a01", with: .noAnswer)
            try await world.start(to: Self.audience("ajax"))
            #expect(try await sent(in: world) == ["5a01"])
            #expect(try await world.startState("d1") == "unknown")
            try await follow("psv", user: "ada", in: world)
            if isBack { try await follow("ajax", user: "ada", in: world) }
            try await world.follow("d1", token: "aa01")
            #expect(try await sent(in: world, "end") == (ends ? ["aa01"] : []))
            let card = try await world.subscription("d1")
            #expect((card == nil) == ends)
            try await follow("ajax", user: "ada", in: world)
            #expect(try await sent(in: world) == (ends ? ["5a01"] : []))
        }
    }

    @Test(
        "A card that is reported while its end waits for another try, or is on its way, is ended all the same",
        arguments: ["aa01", "aa02"],
        [false, true]
    )
    func reportedAgain(token: String, isOnItsWay: Bool) async throws {
        try await withWorld(policy: { $0.onUnfollow = .end }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", user: "ada", in: world)
            try await world.start(to: Self.audience("ajax"))
            #expect(try await sent(in: world) == ["5a01"])
            try await world.follow("d1", token: "aa01")
            #expect(try await sent(in: world) == [])
            if isOnItsWay {
                let gate = world.recorder.close()
                try await follow("psv", user: "ada", in: world)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await world.settle() }
                    await gate.arrivals()
                    for _ in 0..<2 { try await world.follow("d1", token: token) }
                    world.recorder.open()
                    try await group.waitForAll()
                }
                #expect(try await sent(in: world, "end") == Set(["aa01", token]).sorted())
            } else {
                world.recorder.answer("aa01", with: .tooMany)
                try await follow("psv", user: "ada", in: world)
                #expect(try await sent(in: world, "end") == ["aa01"])
                for _ in 0..<2 { try await world.follow("d1", token: token) }
                try await world.pass(31)
                #expect(try await sent(in: world, "end") == [token])
            }
            #expect(try await world.subscription("d1") == nil)
        }
    }

    @Test(
        "A device gets a new card after one that ended when it reported its token, whether it is back before that or after it",
        arguments: [false, true],
        [false, true]
    )
    func backAfterWaiting(isOnItsWay: Bool, isBack: Bool) async throws {
        try await withWorld(policy: { $0.onUnfollow = .end }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", user: "ada", in: world)
            if isOnItsWay {
                try await unfollowOnTheWay(in: world)
            } else {
                try await world.start(to: Self.audience("ajax"))
                try await world.settle()
                try await follow("psv", user: "ada", in: world)
            }
            #expect(try await sent(in: world) == ["5a01"])
            #expect(try await world.startState("d1") == "cancelled")
            if isBack { try await follow("ajax", user: "ada", in: world) }
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == (isBack ? ["aa01", "5a01"] : ["aa01"]))
            guard !isBack else { return }
            try await follow("ajax", user: "ada", in: world)
            #expect(try await sent(in: world) == ["5a01"])
        }
    }

    @Test(
        "A device that follows again gets a new card, also if its app has reported the end of the first one",
        arguments: [false, true],
        [false, true]
    )
    func backAfterReportedEnd(isBeforeThePush: Bool, isStartedByApp: Bool) async throws {
        try await withWorld(policy: { $0.onUnfollow = .end }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", user: "ada", in: world)
            try await world.start(to: Self.audience("ajax"))
            if !isStartedByApp { #expect(try await sent(in: world) == ["5a01"]) }
            try await world.follow("d1", token: "aa01", known: isStartedByApp ? 1 : nil)
            #expect(try await sent(in: world) == [])
            if isBeforeThePush { world.recorder.answer("aa01", with: .tooMany) }
            try await follow("psv", user: "ada", in: world)
            #expect(try await sent(in: world, "end") == ["aa01"])
            try await world.report("d1", .ended)
            try await world.pass(31)
            #expect(try await sent(in: world, "end") == (isBeforeThePush ? ["aa01"] : []))
            try await follow("ajax", user: "ada", in: world)
            #expect(try await sent(in: world) == ["5a01"])
        }
    }

    @Test(
        "The late report that the first card has ended does not keep a new one from whoever follows again",
        arguments: [false, true]
    )
    func lateReportOfTheEnd(isOverBudget: Bool) async throws {
        try await withWorld(policy: {
            $0.onUnfollow = .end
            if isOverBudget { ($0.startBudget.count, $0.startBudget.windowSeconds) = (1, 600) }
        }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", user: "ada", in: world)
            try await world.start(to: Self.audience("ajax"))
            #expect(try await sent(in: world) == ["5a01"])
            try await world.follow("d1", token: "aa01", card: "A")
            #expect(try await sent(in: world) == [])
            try await follow("psv", user: "ada", in: world)
            #expect(try await sent(in: world, "end") == ["aa01"])
            try await follow("ajax", user: "ada", in: world)
            if isOverBudget { #expect(try await sent(in: world) == []) }
            let state = isOverBudget ? "withheld" : "pending"
            #expect(try await world.startState("d1") == state)
            try await world.report("d1", .ended, card: "A")
            #expect(try await world.startState("d1") == state)
            if isOverBudget { try await world.pass(601) }
            #expect(try await sent(in: world) == ["5a01"])
            // The end of that one is its own.
            try await world.report("d1", .ended, card: "B")
            #expect(try await world.startState("d1") == "settled")
        }
    }

    @Test("A card that the app starts after the unfollow has ended Tally's own stays", arguments: [false, true])
    func startedByTheApp(isOwn: Bool) async throws {
        try await withWorld(policy: { $0.onUnfollow = .end }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", user: "ada", in: world)
            try await world.start(to: Self.audience("ajax"))
            #expect(try await sent(in: world) == ["5a01"])
            try await world.follow("d1", token: "aa01")
            #expect(try await sent(in: world) == [])
            try await follow("psv", user: "ada", in: world)
            #expect(try await sent(in: world, "end") == ["aa01"])
            // Without the revision it may be the card that Tally has ended.
            try await world.follow("d1", token: "bb01", known: isOwn ? 1 : nil)
            #expect(try await sent(in: world, "end") == (isOwn ? [] : ["bb01"]))
            try await world.update(score: 1)
            #expect(try await sent(in: world, "update") == (isOwn ? ["bb01"] : []))
        }
    }

    @Test("A card that the backend has ended before its token came ends then, and whoever follows again gets no other")
    func endedByTheBackend() async throws {
        try await withWorld(policy: { $0.onUnfollow = .end }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", user: "ada", in: world)
            try await world.start(to: Self.audience("ajax"))
            #expect(try await sent(in: world) == ["5a01"])
            try await world.orchestrator.intake.unsubscribe(world.app, Self.final, DeviceID(stored: "d1"))
            try await follow("psv", user: "ada", in: world)
            try await world.follow("d1", token: "aa01")
            #expect(try await sent(in: world, "end") == ["aa01"])
            #expect(try await world.subscription("d1") == nil)
            try await follow("ajax", user: "ada", in: world)
            #expect(try await sent(in: world) == [])
        }
    }

    @Test(
        "A topic that is removed starts nobody any more; added again with other limits, its followers are enrolled anew"
    )
    func removed() async throws {
        try await withWorld { world in
            for number in 1...3 { try await world.register("d\(number)", token: "5a0\(number)") }
            try await follow("ajax", device: "d1", in: world)
            try await follow("ajax", "premium", device: "d2", in: world)
            try await world.start(to: Self.audience("ajax", all: ["premium"]))
            #expect(try await sent(in: world) == ["5a02"])
            #expect(try await change(AudienceRequest(remove: Self.audience("ajax")), in: world).devices == 0)
            try await follow("ajax", "premium", device: "d3", in: world)
            #expect(try await sent(in: world) == [])
            #expect(
                try await change(AudienceRequest(add: Self.audience("ajax", all: ["premium"])), in: world).devices == 2
            )
            #expect(try await sent(in: world) == ["5a03"])
            #expect(try await change(AudienceRequest(add: Self.audience("ajax")), in: world).devices == 3)
            #expect(try await sent(in: world) == ["5a01"])
        }
    }

    @Test("A daemon that dies at a stretch of followers, before its COMMIT or after it, loses nobody")
    func crash() async throws {
        try await withWorld(settings: Self.stretches) { world in
            for number in 1...7 {
                try await world.register("d\(number)", token: "5a0\(number)")
                try await follow("ajax", device: "d\(number)", in: world)
            }
            try await world.start(to: Self.audience("none", "ajax"))
            for moment in [StatementGate.Moment.inTransaction, .beforeCommit, .afterCommit, .afterCommit] {
                let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
                let other = world.sibling(
                    behind: StatementGate { (passed) async throws(PostgresError) in
                        if passed == moment { throw PostgresError(.connectionLost) }
                    }
                )
                await #expect(throws: PostgresError.self) { try await other.enrolStretch(under: lease) }
                try await world.expireLeases()
            }
            #expect(try await sent(in: world) == (1...7).map { "5a0\($0)" })
            #expect(try await world.show().starts.repeated == 0)
        }
    }

    @Test("Between two stretches, who follows or stops following is started or not")
    func betweenStretches() async throws {
        try await withWorld(settings: Self.stretches) { world in
            for number in 1...5 { try await world.register("d\(number)", token: "5a0\(number)") }
            for number in 1...4 { try await follow("ajax", device: "d\(number)", in: world) }
            try await world.start(to: Self.audience("ajax"))
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            #expect(try await world.enrolStretch(under: lease))
            try await follow(device: "d1", in: world)
            try await follow(device: "d4", in: world)
            try await follow("ajax", device: "d5", in: world)
            try await world.orchestrator.deliveryStore.segments.release(lease)
            #expect(try await sent(in: world) == ["5a02", "5a03", "5a05"])
        }
    }

    @Test("A ticket that names no activities is good for cards of activities whose topics its device or user follows")
    func tickets() async throws {
        try await withWorld { world in
            try await world.start(to: Self.audience("ajax"))
            try await world.register("phone")
            try await follow("ajax", user: "ada", in: world)
            func report(as user: String?) async throws {
                let ticket = TicketGrant(
                    app: world.app,
                    environment: .production,
                    device: DeviceID(stored: "phone"),
                    user: user.map { UserID(stored: $0) },
                    expiresAt: 4_000_000_000
                )
                let token = try #require(PushToken(hex: "aa01"))
                let request = try ticket.admit(SubscriptionRequest(.updateToken(token)))
                _ = try await world.orchestrator.intake.subscribe(
                    world.app,
                    Self.final,
                    ticket.device,
                    request,
                    by: ticket
                )
            }
            await #expect(throws: Problem.self) { try await report(as: nil) }
            await #expect(throws: Problem.self) { try await report(as: "bob") }
            try await report(as: "ada")
        }
    }
}

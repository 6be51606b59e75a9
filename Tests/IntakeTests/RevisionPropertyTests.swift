import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Testing

@testable import Intake
@testable import Orchestrator

@Suite("The revision in the content state", .timeLimit(.minutes(2)))
struct RevisionPropertyTests {
    private static let attributes: JSONValue = ["type": "object", "properties": ["home": ["type": "string"]]]

    private static let state: JSONValue = [
        "type": "object", "properties": ["score": ["type": "integer"], "revision": ["type": "integer"]],
        "required": ["score", "revision"], "additionalProperties": false,
    ]

    /// Registers the type of the world with the property, and the policy that names it.
    private static func register(_ world: World) async throws {
        var policy = Policy()
        policy.revisionProperty = "revision"
        _ = try await world.orchestrator.putType(
            world.app,
            World.game,
            TypeRequest(source: .schemas(attributes: attributes, contentState: state), policy: policy),
            force: true
        )
    }

    private static func shown(_ pushes: [Recorder.Push]) -> [String] {
        pushes.map { push in
            let state = push.aps["content-state"]
            return "\(state?["score"]?.int64 ?? -1) as \(state?["revision"]?.int64 ?? -1)"
        }
    }

    @Test("Starts, updates and ends carry their revision, whatever the backend sends there")
    func filled() async throws {
        try await withWorld { world in
            try await Self.register(world)
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1")) { $0.contentState["revision"] = 99 }
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.update(score: 1) { $0.contentState["revision"] = "text" }
            try await world.settle()
            try await world.update(score: 2)
            try await world.settle()
            try await world.end()
            try await world.settle()
            #expect(Self.shown(world.recorder.take()) == ["0 as 1", "1 as 2", "2 as 3", "2 as 4"])
        }
    }

    @Test("An end with a content state carries its revision, and the same end again is a repeat")
    func end() async throws {
        try await withWorld { world in
            try await Self.register(world)
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            #expect(try await world.end(score: 7).revision == 2)
            #expect(try await world.end(score: 7).revision == 2)
            #expect(try await problem { try await world.end(score: 8) }?.code == "activity_ended")
            #expect(try await problem { try await world.update(score: 8) }?.code == "activity_ended")
            let shown = try await world.show()
            #expect(shown.state == .ended && shown.endedAt != nil)
            try await world.settle()
            #expect(Self.shown(world.recorder.take()) == ["7 as 2"])
        }
    }

    @Test("The revision alone makes no change, and no rule sees it change")
    func unchanged() async throws {
        try await withWorld { world in
            try await Self.register(world)
            var policy = try await world.orchestrator.type(world.app, World.game).policy
            policy.rules = [PolicyRule(changed: JSONPointer(tokens: ["revision"]), urgency: .critical)]
            let patch = TypePatch(policy: policy.json)
            _ = try await world.orchestrator.patchType(world.app, World.game, patch)
            let unfit = TypePatch(policy: ["revision_property": "missing"])
            let refused = try await problem {
                _ = try await world.orchestrator.patchType(world.app, World.game, unfit)
            }
            #expect(refused?.errors.map(\.pointer.description) == ["/policy/revision_property"])
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            #expect(try await world.update(score: 0).isUnchanged)
            #expect(try await world.update(score: 1).revision == 2)
            #expect(try await world.update(score: 1).isUnchanged)
            #expect(try await world.update(score: 1) { $0.force = true }.revision == 3)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(Self.shown(pushes) == ["1 as 3"])
            #expect(pushes.map(\.priority) == [.five])
        }
    }

    @Test("Several changes of one group are numbered one by one")
    func group() async throws {
        try await withWorld { world in
            try await Self.register(world)
            try await world.start()
            let changes = [1, 2, 3].map { (score: Int64) in
                RequestedChange(
                    app: world.app,
                    id: ActivityID(stored: "final"),
                    body: .update(UpdateRequest(contentState: World.state(score))),
                    origin: nil
                )
            }
            for answer in await world.orchestrator.intake.accept(changes) { _ = try answer.get() }
            #expect(try await world.show().contentState == ["score": 3, "revision": 4])
        }
    }

    @Test("An end of an activity that was started before the policy named the property brings none")
    func olderActivity() async throws {
        try await withWorld { world in
            try await world.start()
            try await Self.register(world)
            try await world.end()
            #expect(try await world.show().contentState == ["score": 0])
        }
    }

    @Test(
        "An end without a state is taken behind the largest state that fits, also if its revision has a digit more",
        arguments: [Delivery.tokens, .channel],
        [Revision(9), 99]
    )
    func largestState(delivery: Delivery, revision: Revision) async throws {
        try await withWorld(policy: { $0.revisionProperty = "score" }) { world in
            try await world.start(delivery: delivery, alert: nil)
            if delivery == .tokens { try await world.follow("d1", token: "aa01", known: 1) }
            try await world.settle()
            try await world.updateToLargestState(as: revision)
            #expect(try await world.show().revision == revision)
            _ = try await world.orchestrator.intake.dryRunEnd(world.app, ActivityID(stored: "final"), EndRequest())
            #expect(try await world.end().revision == revision + 1)
            for _ in 1...3 {
                try await world.pass(5)
                try await world.settle()
            }
            let push = try #require(world.recorder.take().last)
            #expect(push.event == "end")
            // The larger number has no room, so the state is the same to the letter.
            #expect(push.score == revision)
            #expect(push.bytes.count <= (delivery == .channel ? 5_120 : 4_096))
        }
    }

    @Test("A dry run shows the revision that the change would get")
    func dryRun() async throws {
        try await withWorld { world in
            try await Self.register(world)
            try await world.start()
            let answer = try await world.orchestrator.intake.dryRunUpdate(
                world.app,
                ActivityID(stored: "final"),
                UpdateRequest(contentState: World.state(5))
            )
            #expect(answer.pushes.first?.body["aps"]?["content-state"] == ["score": 5, "revision": 2])
        }
    }
}

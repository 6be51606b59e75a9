import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Testing

@testable import Console
@testable import Orchestrator

/// A change of a policy: what its preview promises, and what it leaves to others.
@Suite("Policies in the console", .timeLimit(.minutes(2)))
struct PolicyFormTests {
    private static let app = RunningConsole.mine
    private static let mine = BundleID(stored: app)
    private static let game = ActivityTypeName(stored: "Game")
    private static let path = "/console/type/policy?app=\(app)&name=Game"

    private static func policy(_ console: RunningConsole) async throws -> Policy {
        try await console.orchestrator.type(mine, game).policy
    }

    /// Changes the policy as somebody else does.
    private static func set(_ patch: JSONValue, _ console: RunningConsole) async throws {
        _ = try await console.orchestrator.patchType(mine, game, TypePatch(policy: patch))
    }

    /// The form as its page opened it, with a field changed.
    private static func form(_ page: Reply, _ name: String, _ value: JSONValue) throws -> [(String, String)] {
        let opened = page.hidden("was")
        var policy = try JSONValue(parsing: opened)
        policy.set(name, value)
        return [("was", opened), ("policy", policy.text)]
    }

    /// The form behind the button of a preview.
    private static func apply(_ preview: Reply) -> [(String, String)] {
        ["policy", "was"].map { ($0, preview.hidden($0)) } + [("step", "apply")]
    }

    @Test("A change by somebody else after the preview is kept, and the operator sees a new preview")
    func lostUpdate() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let page = try await console.send("GET", Self.path, cookie: cookie)
            let fields = try Self.form(page, "wake_after_seconds", 300)
            let preview = try await console.post(Self.path, cookie, fields)
            #expect(preview.text.contains("<td><code>wake_after_seconds</code></td>"))
            #expect(!preview.text.contains("somebody else") && !preview.text.contains("Somebody else"))
            try await Self.set(["stale_after_seconds": 222], console)
            let refused = try await console.post(Self.path, cookie, Self.apply(preview))
            #expect(refused.status == 200)
            #expect(refused.text.contains("Nothing was applied, because somebody else has changed the policy"))
            #expect(refused.text.contains("<td><code>wake_after_seconds</code></td>"))
            #expect(!refused.text.contains("<td><code>stale_after_seconds</code></td>"))
            #expect(try await Self.policy(console).wakeAfterSeconds == nil)
            // The same button twice applies it once.
            for _ in 0..<2 {
                let answer = try await console.post(Self.path, cookie, Self.apply(refused))
                #expect(answer.status == 303)
                let policy = try await Self.policy(console)
                #expect(policy.wakeAfterSeconds == 300)
                #expect(policy.staleAfterSeconds == 222)
            }
        }
    }

    @Test("A change by somebody else before the preview is kept and told of, also within one field")
    func movedBefore() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let page = try await console.send("GET", Self.path, cookie: cookie)
            let opened = try JSONValue(parsing: page.hidden("was"))
            var mine = try #require(opened["budget"])
            mine.set("ordinary", 11)
            let fields = try Self.form(page, "budget", mine)
            try await Self.set(["stale_after_seconds": 222, "budget": ["frequent": 33]], console)
            let preview = try await console.post(Self.path, cookie, fields)
            #expect(preview.text.contains("Somebody else has changed the policy"))
            #expect(preview.text.contains("<td><code>budget</code></td>"))
            #expect(!preview.text.contains("<td><code>stale_after_seconds</code></td>"))
            #expect(try await console.post(Self.path, cookie, Self.apply(preview)).status == 303)
            let policy = try await Self.policy(console)
            #expect(policy.staleAfterSeconds == 222)
            #expect(policy.budget.ordinary == 11)
            #expect(policy.budget.frequent == 33)
        }
    }

    @Test("A field that is taken out gets its default, which the preview shows")
    func removedField() async throws {
        try await RunningConsole.run { console in
            try await Self.set(["token_wait_seconds": 77], console)
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let page = try await console.send("GET", Self.path, cookie: cookie)
            let opened = page.hidden("was")
            let document = try JSONValue(parsing: opened)
            var policy = try #require(document.object)
            policy["token_wait_seconds"] = nil
            let fields = [("was", opened), ("policy", JSONValue.object(policy).text)]
            let preview = try await console.post(Self.path, cookie, fields)
            #expect(preview.text.contains("<code>77</code>"))
            #expect(preview.text.contains("<code>3600</code>"))
            #expect(try await console.post(Self.path, cookie, Self.apply(preview)).status == 303)
            #expect(try await Self.policy(console).tokenWaitSeconds == 3600)
        }
    }

    @Test(
        "What would be refused has no preview",
        arguments: [
            "", "{", "[]", "\"s\"", "{\"x\":1}", "{\"stale_after_seconds\":-1}", "{\"rules\":[{\"x\":1}]}",
        ]
    )
    func refused(text: String) async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let page = try await console.send("GET", Self.path, cookie: cookie)
            for opened in [page.hidden("was"), ""] {
                let answer = try await console.post(Self.path, cookie, [("was", opened), ("policy", text)])
                #expect(answer.status == 422)
                #expect(!answer.text.contains("Apply to running activities too"))
                #expect(answer.text.contains("role=\"alert\""))
            }
        }
    }
}

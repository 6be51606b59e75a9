import APITypes
import ActivityModel
import Cryptography
import HTTPAPI
import Orchestrator
import OrchestratorTestSupport
import Testing

@testable import Console

/// What the console keeps from whoever should not see or do it.
@Suite("Security of the console", .timeLimit(.minutes(2)))
struct SecurityTests {
    private static let match = "match-of-\(RunningConsole.mine)"
    private static let query = "?app=\(RunningConsole.mine)&id=\(match)&name=Game&q=x"

    @Test("Every answer forbids frames, foreign resources and caching, also that to nobody")
    func headers() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            for path in ConsoleRoute.all.map(\.path) + ["/console/sign-in", "/console/none"] {
                for cookie in [cookie, nil] {
                    let answer = try await console.show(path + Self.query, cookie: cookie)
                    let policy = answer.fields["content-security-policy"] ?? ""
                    #expect(policy.contains("frame-ancestors 'none'"), "\(path)")
                    #expect(policy.contains("default-src 'none'"), "\(path)")
                    #expect(!policy.contains("unsafe"), "\(path)")
                    #expect(answer.fields["x-frame-options"] == "DENY", "\(path)")
                    #expect(answer.fields["cache-control"] == "no-store", "\(path)")
                    #expect(answer.fields["x-content-type-options"] == "nosniff", "\(path)")
                    #expect(!answer.text.contains(" style=\""), "\(path)")
                    #expect(!answer.text.contains("onclick"), "\(path)")
                }
            }
        }
    }

    @Test("Without a session no route shows or changes anything")
    func nobody() async throws {
        try await RunningConsole.run { console in
            for route in ConsoleRoute.all {
                for cookie in [nil, "tally-session=forged", "tally-session="] {
                    let shown = try await console.show(route.path + Self.query, cookie: cookie)
                    #expect(shown.status == 401, "\(route.path)")
                    #expect(!shown.text.contains("com.example.other"), "\(route.path)")
                    let sent = try await console.send(
                        "POST",
                        route.path + Self.query,
                        cookie: cookie,
                        form: [("x", "y")]
                    )
                    #expect(sent.status == 401, "\(route.path)")
                }
            }
        }
    }

    @Test("Every route is tried with every scope: the scope decides", arguments: Scope.allCases)
    func scopes(scope: Scope) async throws {
        try await RunningConsole.run { console in
            let key = try #require(console.bound[scope])
            guard scope != .register else {
                await #expect(throws: (any Error).self) { _ = try await console.signIn(key) }
                return
            }
            let cookie = try await console.signIn(key)
            for route in ConsoleRoute.all {
                let shown = try await console.show(route.path + Self.query, cookie: cookie)
                let maySee = route.get != nil && Set([scope]).allow(route.needs)
                #expect((shown.status == 403) == !maySee, "\(scope) GET \(route.path): \(shown.status)")
                #expect(!shown.text.contains(RunningConsole.other), "\(scope) GET \(route.path)")
                guard route.post != nil else { continue }
                let sent = try await console.post(route.path + Self.query, cookie, [("app", RunningConsole.mine)])
                let mayChange = Set([scope]).allow(route.needsToChange)
                #expect((sent.status == 403) == !mayChange, "\(scope) POST \(route.path): \(sent.status)")
            }
        }
    }

    @Test("A key that reads changes nothing, whatever form it sends")
    func readOnly() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(try #require(console.bound[.read]))
            let before = try await console.orchestrator.activity(
                .init(stored: RunningConsole.mine),
                .init(stored: Self.match)
            )
            let request = #"{"content_state":{"score":9}}"#
            for path in ["/console/activity/change", "/console/activity/end"] {
                let answer = try await console.post(path + Self.query, cookie, [("request", request), ("key", "k")])
                #expect(answer.status == 403, "\(path)")
            }
            let after = try await console.orchestrator.activity(
                .init(stored: RunningConsole.mine),
                .init(stored: Self.match)
            )
            #expect(before.revision == after.revision)
            #expect(before.state == after.state)
        }
    }

    @Test("A key of one app sees and changes no other")
    func tenancy() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(try #require(console.bound[.admin]))
            let query = "?app=\(RunningConsole.other)&id=match-of-\(RunningConsole.other)&name=Game"
            for route in ConsoleRoute.all {
                let shown = try await console.show(route.path + query, cookie: cookie)
                #expect(!shown.text.contains(RunningConsole.other), "\(route.path)")
                #expect(!shown.text.contains("&quot;score&quot;"), "\(route.path)")
            }
            let request = #"{"content_state":{"score":9}}"#
            let sent = try await console.post("/console/activity/change" + query, cookie, [("request", request)])
            #expect(sent.status == 403)
            let stream = try await console.show(
                "/console/events/stream?bundle_id=\(RunningConsole.other)",
                cookie: cookie
            )
            #expect(stream.status == 403)
        }
    }

    @Test("Text of users never becomes markup, whether stored or in the address")
    func markup() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let hostile = RunningConsole.hostile
            let made = try await console.post("/console/api-keys", cookie, [("name", hostile), ("scope", "read")])
            #expect(made.status == 200)
            let encoded = RunningConsole.encode(hostile)
            let names = [
                "app", "id", "q", "name", "kind", "activity", "device", "action", "key", "state", "cursor", "next",
                "link", "sent", "done", "after", "resumed",
            ]
            for path in ConsoleRoute.all.map(\.path) + ["/console/sign-in", "/console/none"] {
                var queries = names.map { "?\($0)=\(encoded)" }
                queries.append(Self.query)
                queries.append(
                    "?app=\(RunningConsole.mine)&" + names.dropFirst().map { "\($0)=\(encoded)" }.joined(separator: "&")
                )
                for query in queries {
                    let answer = try await console.show(path + query, cookie: cookie)
                    #expect(!answer.text.contains("<script>alert"), "\(path)\(query)")
                    #expect(!answer.text.contains("<img src=x"), "\(path)\(query)")
                    #expect(answer.fields["location"].map { $0.hasPrefix("/console") } ?? true, "\(path)\(query)")
                }
            }
            let form =
                names.map { ($0, hostile) }
                + [
                    "content_state", "policy", "request", "field.note", "at", "alert_title", "alert_body", "urgency",
                    "users", "devices", "version", "environment", "expires_at", "dismiss_minutes", "kept",
                    "back", "once", "revision", "tried", "was.note", "was_content_state", "bundle_id", "all_of_type",
                ].map { ($0, hostile) }
            for route in ConsoleRoute.all where route.post != nil {
                let answer = try await console.post(route.path + Self.query, cookie, form)
                #expect(!answer.text.contains("<script>alert"), "\(route.path)")
                #expect(!answer.text.contains("<img src=x"), "\(route.path)")
            }
            let room = try await console.send("GET", "/console/activity" + Self.query, cookie: cookie)
            #expect(room.status == 200)
            #expect(room.text.contains("&lt;script&gt;alert(&#39;x&#39;)"))
        }
    }

    @Test("A form without the session's own token, or from another site, changes nothing")
    func forgedForms() async throws {
        try await RunningConsole.run { console in
            let cookie = try await console.signIn(RunningConsole.bootstrap)
            let stranger = try await console.signIn(RunningConsole.bootstrap)
            let foreign = try await console.send("GET", "/console/activities", cookie: stranger).token
            let own = try await console.send("GET", "/console/activities", cookie: cookie).token
            #expect(!own.isEmpty && own != foreign)
            let fields = [("name", "forged"), ("scope", "admin")]
            for token in ["", "x", foreign] {
                let answer = try await console.send(
                    "POST",
                    "/console/api-keys",
                    cookie: cookie,
                    form: [("form_token", token)] + fields
                )
                #expect(answer.status == 403)
            }
            for headers in [
                ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Origin": "https://evil.example"],
                ["Origin": "null"],
            ] {
                let answer = try await console.send(
                    "POST",
                    "/console/api-keys",
                    cookie: cookie,
                    form: [("form_token", own)] + fields,
                    headers: headers
                )
                #expect(answer.status == 403, "\(headers)")
            }
            let keys = try await console.orchestrator.apiKeys(PageRequest(), only: nil)
            #expect(!keys.items.contains { $0.name == "forged" })
            let answer = try await console.send(
                "POST",
                "/console/api-keys",
                cookie: cookie,
                form: [("form_token", own)] + fields
            )
            #expect(answer.status == 200)
        }
    }

    @Test("Signing in makes a new session, signing out ends it, and a revoked key ends all of its own")
    func sessions() async throws {
        try await RunningConsole.run { console in
            let first = try await console.signIn(RunningConsole.bootstrap)
            // An attacker's session in the browser does not survive the sign-in.
            let form = try await console.send("GET", "/console/sign-in", cookie: first)
            let visitor = try #require(form.cookie("tally-visitor"))
            let answer = try await console.send(
                "POST",
                "/console/sign-in",
                cookie: "\(first); \(visitor)",
                form: [("form_token", form.token), ("key", RunningConsole.bootstrap)]
            )
            let second = try #require(answer.cookie("tally-session"))
            #expect(second != first)
            let header = try #require(answer.fields["set-cookie"])
            #expect(header.contains("HttpOnly") && header.contains("SameSite=Strict"))
            let page = try await console.send("GET", "/console/activities", cookie: second)
            _ = try await console.send("POST", "/console/sign-out", cookie: second, form: [("form_token", page.token)])
            #expect(try await console.send("GET", "/console", cookie: second).status == 401)
            #expect(try await console.send("GET", "/console", cookie: first).status == 200)

            let request = APIKeyRequest(name: "short", scopes: [.read])
            let key = try await console.orchestrator.createAPIKey(request)
            let session = try await console.signIn(try #require(key.secret))
            #expect(try await console.send("GET", "/console", cookie: session).status == 200)
            try await console.orchestrator.revokeAPIKey(key.id, only: nil)
            #expect(try await console.send("GET", "/console", cookie: session).status == 401)
        }
    }

    @Test("A sealed session opens until it expires, and for its own purpose only")
    func sealedSessions() throws {
        let seal = try SessionSeal(masterKeys: [SymmetricKey.generate()])
        let end = Instant(unixSeconds: 1_000)
        let sealed = try seal.seal(ConsoleSession(id: "1", secret: "key", expiresAt: end), for: .session)
        #expect(seal.open(sealed, for: .session, now: Instant(unixSeconds: 999))?.secret == "key")
        #expect(seal.open(sealed, for: .session, now: end) == nil)
        #expect(seal.open(sealed, for: .link, now: Instant(unixSeconds: 999)) == nil)
        let other = try SessionSeal(masterKeys: [SymmetricKey.generate()])
        #expect(other.open(sealed, for: .session, now: Instant(unixSeconds: 999)) == nil)
    }

    @Test("Behind TLS the cookies are bound to the host and to TLS")
    func secureCookies() async throws {
        try await RunningConsole.run { console in
            let answer = try await console.send("GET", "/console/sign-in", headers: ["X-Forwarded-Proto": "https"])
            let header = try #require(answer.fields["set-cookie"])
            #expect(header.hasPrefix("__Host-tally-visitor="))
            #expect(header.contains("Secure"))
        }
    }

    @Test("After ten wrong keys a client has to wait, also with the right one")
    func wrongKeys() async throws {
        try await RunningConsole.run { console in
            let form = try await console.send("GET", "/console/sign-in")
            let visitor = try #require(form.cookie("tally-visitor"))
            func attempt(_ key: String) async throws -> Reply {
                try await console.send(
                    "POST",
                    "/console/sign-in",
                    cookie: visitor,
                    form: [("form_token", form.token), ("key", key)]
                )
            }
            for _ in 0..<ConsoleMemory.wrongKeys { #expect(try await attempt("wrong").status == 401) }
            let refused = try await attempt(RunningConsole.bootstrap)
            #expect(refused.status == 429)
            #expect(refused.fields["retry-after"] != nil)
        }
    }

    @Test("A one-time link signs in once")
    func link() async throws {
        try await RunningConsole.run { console in
            let link = try console.console.signInLink(secret: RunningConsole.bootstrap, now: .now)
            let form = try await console.send("GET", link)
            #expect(form.status == 200)
            let visitor = try #require(form.cookie("tally-visitor"))
            let sealed = try #require(link.split(separator: "link=").last.map(String.init))
            let fields = [("form_token", form.token), ("link", sealed)]
            let first = try await console.send("POST", "/console/sign-in", cookie: visitor, form: fields)
            #expect(first.status == 303)
            let second = try await console.send("POST", "/console/sign-in", cookie: visitor, form: fields)
            #expect(second.status == 422)
            // A link is no session.
            #expect(try await console.send("GET", "/console", cookie: "tally-session=\(sealed)").status == 401)
        }
    }

    @Test("A form whose session has ended is offered again after the sign-in")
    func keptForm() async throws {
        try await RunningConsole.run { console in
            let path = "/console/activity/change" + Self.query
            let refused = try await console.send("POST", path, form: [("field.note", "kept & safe")])
            #expect(refused.status == 401)
            #expect(refused.text.contains("field.note=kept%20%26%20safe"))
            let visitor = try #require(refused.cookie("tally-visitor"))
            let answer = try await console.send(
                "POST",
                "/console/sign-in",
                cookie: visitor,
                form: [
                    ("form_token", refused.token), ("key", RunningConsole.bootstrap), ("next", path),
                    ("kept", "field.note=kept%20%26%20safe"), ("kept", "was.note=before"), ("kept", "revision=1"),
                    ("kept", "field.score=1"), ("kept", "was.score=1"), ("kept", "content_state=%7B%7D"),
                    ("kept", "was_content_state=%7B%7D"),
                ]
            )
            #expect(answer.status == 200)
            // It says which form it is and what was filled in. The rest goes along unseen.
            #expect(answer.text.contains("Post a change: <bdi>\(Self.match)</bdi>"))
            #expect(answer.text.contains("<dt>note</dt><dd>kept &amp; safe</dd>"))
            #expect(!answer.text.contains("<dt>score</dt>"))
            #expect(!answer.text.contains("content state</dt>"))
            #expect(!answer.text.contains("<textarea"))
            #expect(answer.text.contains("Try it"))
            for (name, value) in [("field.note", "kept & safe"), ("was.note", "before"), ("revision", "1")] {
                #expect(answer.hidden(name) == value)
            }
        }
    }
}

import APITypes
import ActivityModel
import Cryptography
import JSON
import Testing

@testable import Console

/// Who gets what of the console, without HTTP and without a database.
@Suite("Access to the console")
struct AccessTests {
    /// Knows every key, and nothing else.
    private struct EveryKey: ConsoleAPI {
        func owner(ofKey secret: String) async throws -> KeyOwner? {
            KeyOwner(keyID: secret, scopes: [.admin], app: nil)
        }

        func answer(to call: ConsoleCall) async -> APIReply { APIReply(status: 404, body: []) }
    }

    /// An app with so many pages of events before the first that has one.
    private struct QuietApp: ConsoleAPI {
        let emptyPages: Int
        /// The activity that all events are of, as a query names it; nil: it does not matter.
        var activity: String?

        func owner(ofKey secret: String) async throws -> KeyOwner? {
            KeyOwner(keyID: secret, scopes: [.admin], app: nil)
        }

        func answer(to call: ConsoleCall) async -> APIReply {
            guard call.path.text.hasPrefix("/v1/events") else {
                let app = AppResource(
                    bundleID: BundleID(stored: "com.example.quiet"),
                    teamID: TeamID(stored: "ABCDE12345"),
                    channelsExclusive: false,
                    channelPool: 0,
                    environments: [.production: SigningKeyResource(keyID: KeyID(stored: "KEY1234567"))],
                    createdAt: AccessTests.now,
                    updatedAt: AccessTests.now
                )
                return APIReply(status: 200, body: Page(items: [app]).json.serialized())
            }
            if let activity, !call.path.text.contains("activity_id=\(activity)&") {
                return APIReply(status: 200, body: Page<EventResource>(items: []).json.serialized())
            }
            let number = call.path.text.split(separator: "cursor=").dropFirst().first.flatMap { Int($0) } ?? 0
            let event = EventResource(id: "1-1", at: AccessTests.now, kind: "token_died")
            let page: Page<EventResource> =
                number < emptyPages ? Page(items: [], nextCursor: String(number + 1)) : Page(items: [event])
            return APIReply(status: 200, body: page.json.serialized())
        }
    }

    private static let now = Instant(unixSeconds: 1_000)

    private let seal: SessionSeal
    private let console: Console

    init() throws {
        seal = try SessionSeal(masterKeys: [SymmetricKey.generate()])
        console = Console(seal: seal)
    }

    private func session(_ secret: String) throws -> String {
        let session = ConsoleSession(id: "id of \(secret)", secret: secret, expiresAt: Instant(unixSeconds: 2_000))
        return "tally-session=\(try seal.seal(session, for: .session))"
    }

    private func get(_ path: String, _ query: String, cookie: String) async -> ConsoleAnswer {
        let fields = ConsoleRequest.Fields(cookie: cookie)
        let request = ConsoleRequest(method: "GET", path: path, query: query, fields: fields, now: Self.now)
        return await console.answer(to: request, over: EveryKey())
    }

    @Test("Nobody has to click through pages of events that have none")
    func quietEvents() async throws {
        for (count, isFound) in [(0, true), (3, true), (100, false)] {
            let fields = ConsoleRequest.Fields(cookie: try session("key"))
            let request = ConsoleRequest(method: "GET", path: "/console/events", fields: fields, now: Self.now)
            let page = text(await console.answer(to: request, over: QuietApp(emptyPages: count)))
            #expect(page.contains("token died") == isFound, "\(count)")
            // What is further back than one looks at once is no end.
            #expect(page.contains("Look further back") == !isFound, "\(count)")
            #expect(!page.contains(">Older</a>"), "\(count)")
        }
    }

    @Test("Events are found by an id that was pasted with a blank, and by an id that has one")
    func eventsOfExactID() async throws {
        for (typed, activity) in [("match%20", "match"), ("%20match", "%20match"), ("match", "match")] {
            let request = ConsoleRequest(
                method: "GET",
                path: "/console/events",
                query: "activity=" + typed,
                fields: ConsoleRequest.Fields(cookie: try session("key")),
                now: Self.now
            )
            let page = text(await console.answer(to: request, over: QuietApp(emptyPages: 0, activity: activity)))
            #expect(page.contains("token died"), "\(typed)")
            // The live events are of the same activity.
            #expect(page.contains("activity_id=\(activity)&") || page.contains("activity_id=\(activity)\""), "\(typed)")
        }
    }

    private func post(_ path: String, _ form: String, cookie: String? = nil) async -> ConsoleAnswer {
        let request = ConsoleRequest(
            method: "POST",
            path: path,
            fields: ConsoleRequest.Fields(cookie: cookie),
            body: Array(form.utf8),
            now: Self.now
        )
        return await console.answer(to: request, over: EveryKey())
    }

    private func text(_ answer: ConsoleAnswer) -> String {
        guard case .bytes(let bytes) = answer.body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func form(fields count: Int) -> String { Array(repeating: "a", count: count).joined(separator: "&") }

    @Test("A stream of events runs under the key of its own reader")
    func streams() async throws {
        for secret in ["first", "second"] {
            let cookie = try session(secret)
            let answer = await get("/console/events/stream", "bundle_id=a&after=1-1", cookie: cookie)
            guard case .events(let call) = answer.body else {
                Issue.record("no stream")
                continue
            }
            #expect(call.secret == secret)
        }
    }

    @Test("Renewals share no stream")
    func sharedStreams() async {
        let renewals = Renewals()
        let key = Renewals.Key(address: "/console?after=1-1", scopes: [.read], app: nil)
        let call = ConsoleCall(method: "GET", path: "/v1/events", secret: "first")
        for _ in 0..<2 {
            let answer = await renewals.answer(key, now: Self.now) { ConsoleAnswer(status: 200, body: .events(call)) }
            #expect(answer == nil)
        }
        let page = await renewals.answer(key, now: Self.now) { ConsoleAnswer(status: 200) }
        #expect(page?.status == 200)
    }

    @Test("A form with too many fields changes nothing, and its answer is small")
    func fields() async throws {
        let cookies: [String?] = [nil, try session("key")]
        for cookie in cookies {
            for path in ["/console/activity/change", "/console/sign-in", "/console/sign-out", "/console/none"] {
                let answer = await post(path, String(repeating: "a&", count: 8_192), cookie: cookie)
                #expect(answer.status == 413, "\(path)")
                #expect(text(answer).utf8.count < 16_384, "\(path)")
            }
        }
        #expect(await post("/console/activity/change", form(fields: FormFields.most)).status == 401)
        #expect(await post("/console/activity/change", form(fields: FormFields.most + 1)).status == 413)
    }

    @Test("A form of few and short fields is kept through the sign-in, a larger one is not")
    func keptForm() async {
        let large = [
            form(fields: SignInPage.mostKept + 1),
            // Each blank becomes three bytes.
            "a=" + String(repeating: "+", count: SignInPage.mostKeptBytes / 3),
        ]
        for form in large {
            let refused = await post("/console/activity/change", form)
            #expect(refused.status == 401)
            #expect(!text(refused).contains("name=\"kept\""))
            #expect(text(refused).contains("too large to be kept"))
            #expect(text(refused).utf8.count < 16_384)
        }
        let small = await post("/console/activity/change", form(fields: SignInPage.mostKept))
        #expect(text(small).matches(of: #/name="kept"/#).count == SignInPage.mostKept)
        #expect(!text(small).contains("too large to be kept"))
    }

    @Test("A sign-in hands no larger form on than one that was kept")
    func handedOn() async {
        let visitor = seal.visitor()
        let start = "form_token=\(seal.formToken(for: visitor))&key=k&next=%2Fconsole%2Ffind"
        for (count, status) in [(SignInPage.mostKept, 200), (SignInPage.mostKept + 1, 303)] {
            let kept = String(repeating: "&kept=a%3Db", count: count)
            let answer = await post("/console/sign-in", start + kept, cookie: "tally-visitor=\(visitor)")
            #expect(answer.status == status)
        }
    }

    @Test("Nobody invents the cookie of a visitor")
    func visitors() throws {
        let other = try SessionSeal(masterKeys: [SymmetricKey.generate()])
        let visitor = seal.visitor()
        #expect(seal.isVisitor(visitor))
        for text in ["", ".", "a", "a.b", visitor + "A", visitor + ".", "A" + visitor, other.visitor()] {
            #expect(!seal.isVisitor(text), "\(text)")
        }
        // The token of a form is none.
        #expect(!seal.isVisitor("a." + seal.formToken(for: "a")))
    }

    @Test("A form may be as large as its sender is known")
    func bodyLimits() throws {
        func limit(_ cookie: String?) -> Int {
            let fields = ConsoleRequest.Fields(cookie: cookie)
            return console.bodyLimit(
                of: ConsoleRequest(method: "POST", path: "/console/sign-in", fields: fields, now: Self.now)
            )
        }
        let session = try session("key")
        let over = try seal.seal(ConsoleSession(id: "1", secret: "key", expiresAt: Self.now), for: .session)
        let strangers: [String?] = [
            nil, "tally-session=forged", "tally-visitor=forged", "tally-visitor=", "tally-session=\(over)",
        ]
        for cookie in strangers { #expect(limit(cookie) == 16 << 10, "\(cookie ?? "none")") }
        #expect(limit("tally-visitor=\(seal.visitor())") == 64 << 10)
        #expect(limit(session) == 256 << 10)
    }

    @Test("A schema with more properties than a form has room for gets one text of JSON")
    func largeSchema() {
        func schema(_ count: Int) -> JSONValue {
            let properties = (0..<count).map { ("p\($0)", JSONValue.object(["type": "string"])) }
            return .object(["properties": .object(JSONObject(properties))])
        }
        #expect(ContentForm(schema(ContentForm.most)) != nil)
        #expect(ContentForm(schema(ContentForm.most + 1)) == nil)
    }
}

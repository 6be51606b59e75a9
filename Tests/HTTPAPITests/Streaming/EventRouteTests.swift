import APITypes
import ActivityModel
import HTTPTypes
import JSON
import Registry
import Store
import Testing

@testable import HTTPAPI
@testable import Record

@Suite("The route of events")
struct EventRouteTests {
    private static let json: HTTPFields = [.accept: "application/json"]

    private static func event(_ number: Int64) -> EventRecord {
        EventRecord(
            cursor: place(number),
            at: Instant(unixSeconds: 1_671_375_600),
            kind: .tokenDied,
            app: BundleID(stored: "com.example.mine"),
            environment: .production,
            activity: ActivityID(stored: "final"),
            device: nil,
            detail: ["reason": "two\nlines"]
        )
    }

    private static func place(_ number: Int64) -> EventCursor {
        EventCursor("7-\(number)") ?? .oldest
    }

    @Test("Events come as server-sent events, each with its id, kind and data; what says nothing still moves the id on")
    func stream() async throws {
        let api = API()
        api.service.answer(EventCursor.oldest)
        api.service.tell([
            EventPage(events: [Self.event(1), Self.event(2)], next: Self.place(3), isLast: true),
            EventPage(events: [], next: Self.place(9), isLast: true),
        ])
        let answer = try await api.send(.get, "/v1/events")
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "text/event-stream")
        #expect(answer.headers[.cacheControl] == "no-store")
        let data =
            #""at":"2022-12-18T15:00:00Z","kind":"token_died","bundle_id":"com.example.mine","environment":"production","#
            + #""activity_id":"final","detail":{"reason":"two\nlines"}}"#
        #expect(
            answer.body == """
                retry: 1000
                : 
                id: 0-0

                id: 7-1
                event: token_died
                data: {"id":"7-1",\(data)

                id: 7-2
                event: token_died
                data: {"id":"7-2",\(data)

                : 
                id: 7-9


                """
        )
        #expect(
            api.service.calls == [
                "eventPlace -", "nextEvents after 0-0 - - - -", "nextEvents after 7-3 - - - -",
                "nextEvents after 7-9 - - - -",
            ]
        )
    }

    @Test(
        "A reader goes on after the last id that it saw, or after a cursor",
        arguments: [
            (["last-event-id": "7-1"], "", "eventPlace 7-1"), ([:], "?cursor=7-2", "eventPlace 7-2"),
            (["last-event-id": "7-1"], "?cursor=7-2", "eventPlace 7-1"),
        ] as [([String: String], String, String)]
    )
    func resume(headers: [String: String], query: String, call: String) async throws {
        let api = API()
        var fields = HTTPFields()
        for (name, value) in headers { fields[try #require(HTTPField.Name(name))] = value }
        _ = try await api.send(.get, "/v1/events\(query)", headers: fields)
        #expect(api.service.calls.first == call)
    }

    @Test("Who asks for JSON alone gets a page")
    func page() async throws {
        let api = API()
        let path = "/v1/events?limit=7&cursor=7-1&bundle_id=com.example.mine&activity_id=a&device_id=d"
        let answer = try await api.send(.get, path + "&kind=token_died,demoted", headers: Self.json)
        #expect(answer.code == "reached")
        #expect(api.service.calls == ["events com.example.mine a d demoted+token_died 7 7-1"])
    }

    @Test("A page goes back from the newest event if the caller says so, and another word is refused")
    func newestFirst() async throws {
        let api = API()
        let path = "/v1/events?bundle_id=com.example.mine&order="
        _ = try await api.send(.get, path + "newest", headers: Self.json)
        #expect(api.service.calls.first?.hasPrefix("events newest com.example.mine") == true)
        #expect(try await api.send(.get, path + "latest", headers: Self.json).code == "invalid_request")
    }

    @Test(
        "What is accepted decides the form",
        arguments: [
            (nil, true), ("*/*", true), ("text/event-stream", true), ("application/json, text/event-stream", true),
            ("application/json", false), ("application/json;q=0.9, */*;q=0.1", false), ("Application/JSON", false),
        ] as [(String?, Bool)]
    )
    func negotiation(accept: String?, isStream: Bool) {
        #expect(StreamTerms(accept: accept).wantsEventStream == isStream)
    }

    @Test("A bound key follows its app alone, and may not name another")
    func boundKey() async throws {
        let api = API()
        api.service.answer(EventCursor.oldest)
        _ = try await api.send(.get, "/v1/events", key: "read@com.example.mine")
        #expect(api.service.calls.last == "nextEvents after 0-0 com.example.mine - - -")
        let other = try await api.send(.get, "/v1/events?bundle_id=com.example.other", key: "read@com.example.mine")
        #expect(other.code == "app_forbidden")
    }

    @Test("A key without the scope is told which one, and a kind that does not exist which ones do")
    func refusals() async throws {
        let api = API()
        #expect(try await api.send(.get, "/v1/events", key: "register").code == "missing_scope")
        let typo = try await api.send(.get, "/v1/events?kind=token_dead")
        #expect(typo.code == "invalid_request")
        #expect(typo.detail?.contains("'token_died'") == true)
        let last = try await api.send(.get, "/v1/events", headers: [.lastEventID: "7"])
        #expect(last.code == "invalid_request")
        #expect(last.detail == "'Last-Event-ID' is not an id that the events gave out.")
        #expect(api.service.calls.isEmpty)
    }

    private static let reader = Principal(keyID: "k1", scopes: [.read], app: nil)

    private func stream(
        _ service: RecordingService,
        heartbeat: Duration,
        reader: @escaping @Sendable () async throws -> Principal?
    ) -> EventStream {
        EventStream(
            service: service,
            filter: EventFilter(),
            start: .oldest,
            principal: Self.reader,
            terms: StreamTerms(authenticateAgain: reader),
            times: EventStream.Times(heartbeat: heartbeat)
        )
    }

    @Test(
        "With each sign of life it is asked anew whether the reader may read; who may not any more hears nothing more"
    )
    func revoked() async throws {
        let page = EventPage(events: [Self.event(1)], next: Self.place(1), isLast: true)
        for (reader, hears) in [(Self.reader, true), (nil, false)] as [(Principal?, Bool)] {
            let service = RecordingService()
            service.tell([page])
            let collector = BodyCollector()
            try await stream(service, heartbeat: .zero) { reader }.write(to: collector)
            #expect(collector.text.contains("id: 7-1") == hears)
            #expect(collector.text.contains("id: 0-0"))
        }
    }

    @Test(
        "A sign of life comes as often as it should; a mistake of the program breaks the stream off, an outage ends it"
    )
    func ends() async throws {
        let quiet = RecordingService()
        try await stream(quiet, heartbeat: .seconds(15)) { Self.reader }.write(to: BodyCollector())
        #expect(quiet.patiences == [.seconds(15)])
        let failing = RecordingService()
        failing.fail(with: RecordingService.Outage())
        try await stream(failing, heartbeat: .seconds(15)) { Self.reader }.write(to: BodyCollector())
        failing.fail(with: RecordingService.Mistake(description: "none"))
        await #expect(throws: RecordingService.Mistake.self) {
            try await stream(failing, heartbeat: .seconds(15)) { Self.reader }.write(to: BodyCollector())
        }
    }

    @Test(
        "Each key has places of its own: one that has taken all of its leaves the others theirs",
        .timeLimit(.minutes(1))
    )
    func slotsPerKey() async throws {
        let api = API()
        api.service.answer(EventCursor.oldest)
        api.service.holdReaders()
        try await withThrowingTaskGroup(of: Void.self) { group throws in
            for _ in 1...100 { group.addTask { _ = try await api.send(.get, "/v1/events", key: "read") } }
            while api.service.calls.count(where: { $0.hasPrefix("nextEvents") }) < 100 { await Task.yield() }
            let refused = try await api.send(.get, "/v1/events", key: "read")
            #expect(refused.code == "too_many_readers")
            group.addTask { _ = try await api.send(.get, "/v1/events", key: "admin") }
            while api.service.calls.count(where: { $0.hasPrefix("nextEvents") }) < 101 { await Task.yield() }
            group.cancelAll()
            while await group.nextResult() != nil {}
        }
    }

    @Test("A key that holds too many connections is told to wait; one that is let go makes room")
    func slots() throws {
        let limits = StreamSlots.Limits(all: 3, key: 2, app: 3, bound: 3)
        let slots = StreamSlots(limits, metrics: PrometheusMetrics())
        var taken = [try slots.take(for: Self.key("a")), try slots.take(for: Self.key("a"))]
        let refusal = #expect(throws: Problem.self) { _ = try slots.take(for: Self.key("a")) }
        #expect(refusal?.code == "too_many_readers")
        #expect(refusal?.retryAfter != nil)
        taken.append(try slots.take(for: Self.key("b")))
        #expect(throws: Problem.self) { _ = try slots.take(for: Self.key("c")) }
        taken.removeFirst()
        taken.append(try slots.take(for: Self.key("c")))
        #expect(taken.count == 3)
    }

    private static func key(_ id: String, of app: String? = nil) -> Principal {
        Principal(keyID: id, scopes: [.read], app: app.map { BundleID(stored: $0) })
    }

    @Test("The keys of one app share their places, and all bound keys leave some to the operator")
    func slotsPerApp() throws {
        let limits = StreamSlots.Limits(all: 6, key: 2, app: 3, bound: 4)
        let slots = StreamSlots(limits, metrics: PrometheusMetrics())
        func refused(_ principal: Principal) -> JSONValue? {
            let refusal = #expect(throws: Problem.self) { _ = try slots.take(for: principal) }
            return refusal?.extra["limit"]
        }
        var taken = try ["a1", "a1", "a2"].map { try slots.take(for: Self.key($0, of: "com.example.a")) }
        #expect(refused(Self.key("a3", of: "com.example.a")) == 3)
        taken.append(try slots.take(for: Self.key("b1", of: "com.example.b")))
        #expect(refused(Self.key("c1", of: "com.example.c")) == 4)
        taken.append(try slots.take(for: Self.key("operator")))
        taken.append(try slots.take(for: Self.key("operator")))
        #expect(refused(Self.key("other")) == 6)
        taken.removeFirst()
        taken.append(try slots.take(for: Self.key("a3", of: "com.example.a")))
        #expect(taken.count == 6)
    }

    @Test("An app that makes keys without end takes 250 places, all apps 900, and the operator still follows")
    func manyKeys() throws {
        let slots = StreamSlots(.ofDaemon, metrics: PrometheusMetrics())
        var taken: [StreamSlot] = []
        var sums: [Int] = []
        for app in ["com.example.a", "com.example.b", "com.example.c", "com.example.d"] {
            for number in 0..<300 {
                // One that is refused takes no place.
                if let slot = try? slots.take(for: Self.key("\(app) \(number)", of: app)) { taken.append(slot) }
            }
            sums.append(taken.count)
        }
        #expect(sums == [250, 500, 750, 900])
        for _ in 0..<100 { taken.append(try slots.take(for: Self.key("operator"))) }
        #expect(taken.count == 1_000)
        #expect(throws: Problem.self) { _ = try slots.take(for: Self.key("other")) }
    }

    @Test("A reader that takes nothing is cut off", .timeLimit(.minutes(1)))
    func slowReader() async throws {
        let watch = WaitWatch(patience: .milliseconds(10))
        let (cut, cutting) = AsyncStream.makeStream(of: Void.self)
        async let watching: Void = watch.run { cutting.finish() }
        // Waits as a write does whose reader's buffers are full.
        watch.beginWaiting()
        for await _ in cut {}
        watch.end()
        await watching
    }
}

import APITypes
import ActivityModel
import JSON
import Postgres
import SystemSupport
import TestSupport
import Testing

@Suite("A refused request changes nothing, and nothing is sent", .serialized, .honestyWorld)
struct HonestyTests {
    private var world: HonestyWorld {
        get throws { try #require(HonestyWorld.current) }
    }

    @Test("content that a phone could not decode", arguments: Refusal.contents)
    func refusesContent(_ refusal: Refusal) async throws { try await check(refusal) }

    @Test("requests that are none", arguments: Refusal.forms)
    func refusesForms(_ refusal: Refusal) async throws { try await check(refusal) }

    @Test("durations that make no sense", arguments: Refusal.durations)
    func refusesDurations(_ refusal: Refusal) async throws { try await check(refusal) }

    @Test("what does not exist or is in the wrong state", arguments: Refusal.states)
    func refusesStates(_ refusal: Refusal) async throws { try await check(refusal) }

    @Test("types that are none", arguments: Refusal.types)
    func refusesTypes(_ refusal: Refusal) async throws { try await check(refusal) }

    @Test("keys that do not fit", arguments: Refusal.keys)
    func refusesKeys(_ refusal: Refusal) async throws { try await check(refusal) }

    private func check(_ refusal: Refusal) async throws {
        let world = try world
        let rows = try await rowCounts()
        try await world.expectNoPush {
            let answer = try await world.api(refusal.caller)
                .send(refusal.method, refusal.fullPath, refusal.body, headers: refusal.headers)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.status == refusal.status, "\(text)")
            #expect(answer[header: "Content-Type"] == "application/problem+json")
            #expect(answer.json["code"]?.string == refusal.code, "\(text)")
            #expect(answer.json["status"]?.int64 == Int64(refusal.status))
            #expect(answer.json["detail"]?.string?.isEmpty == false)
            if let pointer = refusal.pointer {
                let pointers = answer.json["errors"]?.array?.compactMap { $0["pointer"]?.string } ?? []
                #expect(pointers.contains(pointer), "\(text)")
            }
            for (name, value) in refusal.members.entries { #expect(answer.json[name] == value) }
            if let header = refusal.answerHeader { #expect(answer[header: header.name] == header.value) }
            if refusal.status == 401 { #expect(answer[header: "WWW-Authenticate"]?.hasPrefix("Bearer") == true) }
            #expect(try await rowCounts() == rows)
        }
    }

    /// How many rows there are of what requests make.
    private func rowCounts() async throws -> [Int64] {
        let database = try world.system.database
        var counts: [Int64] = []
        for table in [
            "activities", "changes", "starts", "subscriptions", "schedules", "devices", "api_keys", "type_versions",
            "idempotency_keys",
        ] {
            counts.append(
                try await database.query("SELECT count(*) FROM \(identifier: table)").first(as: Int64.self) ?? -1
            )
        }
        return counts
    }

    @Test("the same start again is answered 200 and starts nothing")
    func replaysStart() async throws {
        let world = try world
        let body = HonestyWorld.start(devices: [HonestyWorld.phone])
        try await world.expectNoPush(fenced: true) {
            let answer = try await world.api().send("PUT", "\(HonestyWorld.path)/activities/running", body.serialized())
            #expect(answer.status == 200)
            #expect(answer.json["activity_id"]?.string == "running")
            #expect(answer.json["state"]?.string == "live")
            let ended = try await world.api().send(
                "PUT",
                "\(HonestyWorld.path)/activities/ended",
                HonestyWorld.start().serialized()
            )
            #expect(ended.status == 200)
            #expect(ended.json["state"]?.string == "ended")
        }
    }

    /// An audience, and what the answer says of it.
    struct AudienceCase: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let audience: JSONValue
        var unknown: Int64 = 0
    }

    @Test(
        "an audience that reaches nobody is accepted, and the answer says so",
        arguments: [
            AudienceCase(testDescription: "no users", audience: ["users": []]),
            AudienceCase(testDescription: "no audience", audience: [:]),
            AudienceCase(
                testDescription: "unknown users",
                audience: ["users": ["nobody-1", "nobody-2"]],
                unknown: 2
            ),
            AudienceCase(testDescription: "unknown devices", audience: ["devices": ["no-device"]]),
        ]
    )
    func acceptsAudienceOfNobody(_ example: AudienceCase) async throws {
        let world = try world
        try await world.expectNoPush(fenced: true) {
            var body = HonestyWorld.start().object ?? JSONObject()
            body["audience"] = example.audience
            let id = world.newID()
            let answer = try await world.api().send(
                "PUT",
                "\(HonestyWorld.path)/activities/\(id)",
                JSONValue.object(body).serialized()
            )
            #expect(answer.status == 202)
            #expect(answer.json["audience"]?["devices"]?.int64 == 0)
            #expect(answer.json["audience"]?["unknown_users"]?.int64 == example.unknown)
        }
    }

    @Test("the same state again is answered with the same revision and not sent, unless it is forced")
    func leavesUnchangedStateAlone() async throws {
        let world = try world
        let path = "\(HonestyWorld.path)/activities/running/updates"
        let content = world.newContent()
        let first = try await world.api().call("POST", path, ["content_state": content])
        #expect(first["unchanged"] == nil)
        try await eventually("the phone shows it") {
            try await world.system.simulator.phone(HonestyWorld.phone).contentState(of: HonestyWorld.running) == content
        }
        try await world.expectNoPush(fenced: true) {
            let second = try await world.api().send(
                "POST",
                path,
                (["content_state": content] as JSONValue).serialized()
            )
            #expect(second.status == 202)
            #expect(second.json["unchanged"]?.bool == true)
            #expect(second.json["revision"] == first["revision"])
        }

        let last = try await world.api().call("POST", path, ["content_state": world.newContent()])
        let newest = try await world.system.activity(knownGood(ActivityID(HonestyWorld.running)))
        let forced = try await world.api()
            .call("POST", path, ["content_state": .object(newest.contentState), "force": true])
        #expect(forced["unchanged"] == nil)
        #expect(forced["revision"]?.int64 == (last["revision"]?.int64 ?? 0) + 1)
        try await eventually("it is sent") {
            try await world.system.activity(knownGood(ActivityID(HonestyWorld.running))).progress.pending == 0
        }
    }

    @Test("an Idempotency-Key takes effect once, and does not take another body")
    func keepsIdempotencyKeys() async throws {
        let world = try world
        let id = try await world.newActivity()
        let path = "\(HonestyWorld.path)/activities/\(id)/updates"
        let body: JSONValue = ["content_state": world.newContent(), "alert": HonestyWorld.alert]
        let headers = ["Idempotency-Key": "goal-1"]
        let first = try await world.api().send("POST", path, body.serialized(), headers: headers)
        #expect(first.status == 202)
        let second = try await world.api().send("POST", path, body.serialized(), headers: headers)
        #expect(second.status == 202)
        #expect(second.json == first.json)
        let other: JSONValue = ["content_state": world.newContent()]
        let third = try await world.api().send("POST", path, other.serialized(), headers: headers)
        #expect(third.status == 409)
        #expect(third.json["code"]?.string == "idempotency_key_reused")
        // The scope of a key is the caller's, and one path.
        let publisher = try await world.api(.publisher).send("POST", path, body.serialized(), headers: headers)
        #expect(publisher.status == 202)
        #expect(publisher.json["revision"]?.int64 == (first.json["revision"]?.int64 ?? 0) + 1)
        let activity = try await world.system.activity(knownGood(ActivityID(id)))
        #expect(activity.revision == 3)
    }

    @Test("an Idempotency-Key of a refused request is free again")
    func forgetsRefusedKeys() async throws {
        let world = try world
        let id = try await world.newActivity()
        let path = "\(HonestyWorld.path)/activities/\(id)/updates"
        let headers = ["Idempotency-Key": "goal-2"]
        let bad: JSONValue = ["content_state": [:]]
        #expect(try await world.api().send("POST", path, bad.serialized(), headers: headers).status == 422)
        let good: JSONValue = ["content_state": world.newContent()]
        #expect(try await world.api().send("POST", path, good.serialized(), headers: headers).status == 202)
    }

    @Test("concurrent requests with one Idempotency-Key make one revision")
    func acceptsConcurrentReplaysOnce() async throws {
        let world = try world
        let id = try await world.newActivity()
        let path = "\(HonestyWorld.path)/activities/\(id)/updates"
        let body = (["content_state": world.newContent(), "alert": HonestyWorld.alert] as JSONValue).serialized()
        let answers = try await withThrowingTaskGroup(of: HTTPCaller.Answer.self) { group in
            for _ in 1...8 {
                group.addTask { try await world.api().send("POST", path, body, headers: ["Idempotency-Key": "goal-3"]) }
            }
            var answers: [HTTPCaller.Answer] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
        // 409 would say that the first one still runs.
        #expect(answers.allSatisfy { $0.status == 202 || $0.json["code"]?.string == "idempotency_in_progress" })
        #expect(Set(answers.filter { $0.status == 202 }.map { $0.json["revision"]?.int64 }) == [2])
        #expect(try await world.system.activity(knownGood(ActivityID(id))).revision == 2)
    }

    @Test("an older event_time is 409, and the same or a newer one is not")
    func refusesLateEvents() async throws {
        let world = try world
        let id = try await world.newActivity()
        let path = "\(HonestyWorld.path)/activities/\(id)/updates"
        for (time, status) in [
            ("2022-12-18T15:23:00Z", 202), ("2022-12-18T15:22:59Z", 409), ("2022-12-18T15:23:00Z", 202),
            ("2022-12-18T15:24:00Z", 202),
        ] {
            let body: JSONValue = ["content_state": world.newContent(), "event_time": .string(time)]
            let answer = try await world.api().send("POST", path, body.serialized())
            #expect(answer.status == status)
            if status == 409 { #expect(answer.json["code"]?.string == "late_event") }
        }
    }
}

import APITypes
import ActivityModel
import JSON
import Synchronization
import SystemSupport
import TallyClient
import TestSupport

/// One activity, posted to by one backend, one change after the other.
final class Match: Sendable {
    let id: ActivityID
    let delivery: Delivery
    /// Devices by their ids, present and future ones.
    private let audience: [DeviceID]
    private let doors: Doors
    private let state: Mutex<State>

    private struct State {
        var random: SeededRandom
        var minute: Int64 = 0
        var posts: [PostedChange] = []
    }

    init(_ id: String, _ delivery: Delivery, audience: [String], by doors: Doors, seed: UInt64) {
        self.id = knownGood(ActivityID(id))
        self.delivery = delivery
        self.audience = audience.map { knownGood(DeviceID($0)) }
        self.doors = doors
        state = Mutex(State(random: SeededRandom(seed: seed)))
    }

    /// What was accepted so far, in order.
    var posts: [PostedChange] { state.withLock { $0.posts } }

    private var newContent: JSONObject {
        state.withLock { state in
            state.minute += 1
            return [
                "homeScore": .number(JSONNumber(state.minute / 20)), "awayScore": 0,
                "minute": .number(JSONNumber(state.minute)), "period": "firstHalf",
            ]
        }
    }

    func start() async throws {
        let content = newContent
        let request = StartRequest(
            type: TallySystem.type,
            attributes: ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"],
            contentState: content,
            audience: Audience(devices: audience),
            delivery: delivery,
            alert: AlertContent(title: .plain("Ajax – PSV"), body: .plain("Kick-off"))
        )
        try await note(.start, content) { [id, doors] in
            try await doors.call("the start of \(id)") { client throws(ClientError) in
                try await client.start(TallySystem.app, id, request).answer.revision
            }
        }
    }

    /// Posts a new state: mostly routine, now and then with an alert or a higher urgency.
    func update() async throws {
        let content = newContent
        let chance = state.withLock { Int.random(in: 0..<20, using: &$0.random) }
        let alert = chance == 0 ? AlertContent(title: .plain("Goal"), body: .plain("Ajax scores")) : nil
        let request = UpdateRequest(
            contentState: content,
            alert: alert,
            urgency: chance == 1 ? .critical : chance < 4 ? .notable : .routine
        )
        let key = TallyClient.newIdempotencyKey()
        try await note(.update, content) { [id, doors] in
            try await doors.call("an update of \(id)") { client throws(ClientError) in
                try await client.update(TallySystem.app, id, request, idempotencyKey: key)
            }.acceptedRevision
        }
    }

    func end() async throws {
        let content = newContent
        let key = TallyClient.newIdempotencyKey()
        try await note(.end, content) { [id, doors] in
            try await doors.call("the end of \(id)") { client throws(ClientError) in
                let request = EndRequest(contentState: content)
                return try await client.end(TallySystem.app, id, request, idempotencyKey: key)
            }.acceptedRevision
        }
    }

    private func note(_ kind: ChangeKind, _ content: JSONObject, _ post: () async throws -> Revision) async throws {
        let postedAt = Clock.milliseconds
        let change = PostedChange(
            activityID: id,
            kind: kind,
            revision: try await post(),
            postedAt: postedAt,
            contentState: content
        )
        state.withLock { $0.posts.append(change) }
    }
}

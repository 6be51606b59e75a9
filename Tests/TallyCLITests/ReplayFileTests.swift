import APITypes
import ActivityModel
import Foundation
import JSON
import Testing

@testable import MatchReplay
@testable import tally

/// The recorded match of the repository.
private func worldCupFinal() throws -> ReplayFile {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    return try ReplayFile(json: Files.readJSON(root.path + "/docs/samples/world-cup-final-2022.json"))
}

private let minimal: JSONObject = [
    "type": "Game",
    "attributes": [:],
    "activities": [["activity_id": "a"]],
    "posts": [["at_seconds": 0, "kind": "start", "content_state": [:]]],
]

private func recording(with posts: JSONValue) -> JSONValue {
    var object = minimal
    object["posts"] = posts
    return .object(object)
}

@Suite("The World Cup final")
struct WorldCupFinalTests {
    @Test("it has about 45 posts: one start, one end, strictly in order of time")
    func posts() throws {
        let posts = try worldCupFinal().posts
        #expect((43...48).contains(posts.count))
        #expect(posts.map(\.kind) == [.start] + Array(repeating: .update, count: posts.count - 2) + [.end])
        #expect(zip(posts, posts.dropFirst()).allSatisfy { $0.atSeconds < $1.atSeconds })
    }

    @Test("it goes to two activities, one by tokens and one by channel")
    func activities() throws {
        #expect(try worldCupFinal().activities.map(\.delivery) == [.tokens, .channel])
    }

    @Test("no two posts have the same state")
    func statesAreDistinct() throws {
        let states = try worldCupFinal().posts.compactMap(\.contentState)
        #expect(Set(states).count == states.count)
        #expect(states.count == (try worldCupFinal().posts.count))
    }

    @Test("the goals fall when they fell, each with an alert")
    func goals() throws {
        var score = (0, 0)
        var goals: [String] = []
        for post in try worldCupFinal().posts {
            let state = JSONValue.object(try #require(post.contentState))
            let home = Int(try #require(state["homeScore"]?.int64))
            let away = Int(try #require(state["awayScore"]?.int64))
            if (home, away) != score {
                goals.append("\(try #require(state["minute"]?.int64))' \(home)–\(away)")
                #expect(post.alert != nil)
                score = (home, away)
            }
        }
        #expect(goals == ["23' 1–0", "36' 2–0", "80' 2–1", "81' 2–2", "108' 3–2", "118' 3–3"])
    }

    @Test("the penalties are shot in their order and end 4–2")
    func penalties() throws {
        let kicks = try worldCupFinal().posts.compactMap { post -> String? in
            let state = JSONValue.object(post.contentState ?? [:])
            guard state["period"]?.string == "penalties", let home = state["homePenalties"]?.int64,
                let away = state["awayPenalties"]?.int64
            else { return nil }
            return "\(home)–\(away)"
        }
        #expect(kicks == ["0–0", "0–1", "1–1", "1–1", "2–1", "2–1", "3–1", "3–2", "4–2"])
    }

    @Test("it ends 3–3, 4–2 on penalties, and says nothing of penalties before")
    func end() throws {
        let posts = try worldCupFinal().posts
        let expected: JSONObject = [
            "homeScore": 3, "awayScore": 3, "minute": 120, "period": "ended", "homePenalties": 4, "awayPenalties": 2,
            "lastEvent": "Argentina are world champions",
        ]
        #expect(posts.last?.contentState == expected)
        let first = try #require(posts.firstIndex { $0.contentState?["homePenalties"] != nil })
        #expect(posts[first].contentState?["period"] == "penalties")
        #expect(posts[first...].allSatisfy { $0.contentState?["homePenalties"] != nil })
    }

    @Test("every five minutes of play there is a post")
    func ticks() throws {
        let minutes = Set(try worldCupFinal().posts.compactMap { $0.contentState?["minute"]?.int64 })
        for minute in stride(from: Int64(0), through: 120, by: 5) { #expect(minutes.contains(minute)) }
    }

    @Test("at 150 seconds per second it plays in about a minute")
    func length() throws {
        let file = try worldCupFinal()
        let player = ReplayPlayer(
            file: file,
            speed: 150,
            post: { _, _ in .init(revision: 1, timestamp: nil) },
            now: { 0 }
        )
        let last = try #require(file.posts.last)
        #expect(player.delay(of: last) > .seconds(55))
        #expect(player.delay(of: last) < .seconds(65))
    }

    @Test("it is read as it was written")
    func roundTrip() throws {
        let file = try worldCupFinal()
        #expect(try ReplayFile(json: file.json) == file)
    }
}

@Suite("Recordings")
struct ReplayFileTests {
    @Test("delivery is by tokens and the audience empty unless the file says otherwise")
    func defaults() throws {
        let file = try ReplayFile(json: .object(minimal))
        #expect(
            file.activities == [.init(activityID: ActivityID(stored: "a"), delivery: .tokens, audience: Audience())]
        )
        #expect(file.app == nil)
    }

    @Test(
        "what cannot be played is refused, with its place",
        arguments: [
            ([], "/posts"),
            ([["at_seconds": 0, "kind": "update", "content_state": [:]]], "/posts"),
            ([["at_seconds": 0, "kind": "start"]], "/posts/0/content_state"),
            ([["at_seconds": -1, "kind": "start", "content_state": [:]]], "/posts/0/at_seconds"),
            ([["at_seconds": 0, "kind": "goal", "content_state": [:]]], "/posts/0/kind"),
            ([["at_seconds": 0, "kind": "start", "content_state": [:], "minute": 1]], "/posts/0/minute"),
            (
                [
                    ["at_seconds": 0, "kind": "start", "content_state": [:]],
                    ["at_seconds": 0, "kind": "update", "content_state": [:]],
                ], "/posts"
            ),
            (
                [
                    ["at_seconds": 0, "kind": "start", "content_state": [:]], ["at_seconds": 1, "kind": "end"],
                    ["at_seconds": 2, "kind": "update", "content_state": [:]],
                ], "/posts"
            ),
            (
                [
                    ["at_seconds": 0, "kind": "start", "content_state": [:]],
                    ["at_seconds": 1, "kind": "start", "content_state": [:]],
                ], "/posts"
            ),
        ] as [(JSONValue, String)]
    )
    func flaws(posts: JSONValue, pointer: String) throws {
        let problem = try #require(throws: Problem.self) { try ReplayFile(json: recording(with: posts)) }
        #expect(problem.errors.map(\.pointer.description) == [pointer])
    }

    @Test("an activity may not be named twice")
    func duplicateActivities() throws {
        var object = minimal
        object["activities"] = [["activity_id": "a"], ["activity_id": "a"]]
        let problem = try #require(throws: Problem.self) { try ReplayFile(json: .object(object)) }
        #expect(problem.errors.map(\.code) == ["conflict"])
    }
}

@Suite("Audiences on the command line")
struct AudienceArgumentTests {
    @Test("all and none")
    func words() throws {
        let all = try #require(AudienceArgument(argument: "final=all"))
        #expect(all.activityID.rawValue == "final")
        #expect(try all.audience() == Audience(allOfType: true))
        #expect(try #require(AudienceArgument(argument: "final=none")).audience().isEmpty)
    }

    @Test(
        "ranges of names, with leading zeros where the first number has them",
        arguments: [
            ("a=devices:phone-:9-11", ["phone-9", "phone-10", "phone-11"]),
            ("a=devices:phone-:009-011", ["phone-009", "phone-010", "phone-011"]),
            ("a=devices:x:y:1-1", ["x:y1"]),
            ("a=devices::0-1", ["0", "1"]),
        ]
    )
    func ranges(argument: String, names: [String]) throws {
        let audience = try #require(AudienceArgument(argument: argument)).audience()
        #expect(audience.devices.map(\.rawValue) == names)
        #expect(audience.users.isEmpty)
    }

    @Test("users are named in the same way")
    func users() throws {
        let audience = try #require(AudienceArgument(argument: "a=users:fan-:1-2")).audience()
        #expect(audience == Audience(users: [UserID(stored: "fan-1"), UserID(stored: "fan-2")]))
    }

    @Test(
        "anything else is refused",
        arguments: [
            "", "a", "a=", "=all", "ä=all", "a=some", "a=devices:1-2", "a=devices:p:2-1", "a=devices:p:1",
            "a=devices:p:x-2",
            "a=devices:ä:1-2", "a=devices:p:0-2000000",
        ]
    )
    func refused(argument: String) {
        #expect(AudienceArgument(argument: argument) == nil)
    }
}

import APITypes
import ActivityModel
import JSON
import TestSupport
import Testing

@Suite("Bodies of ordinary pushes, at random")
struct PushPayloadPropertyTests {
    /// Keys of every table, with values that fit and values that do not.
    private static let members: [(String, [JSONValue])] = [
        ("badge", [0, 7, -1, "7", nil, 1.5]),
        ("sound", ["default", "", ["critical": 1, "name": "n", "volume": 0.5], ["critical": 1], 3]),
        ("thread-id", ["t", "", 1, nil]),
        ("category", ["GOAL", false]),
        ("content-available", [1, 0, true, 2]),
        ("content-changed", [true, false, 1]),
        ("mutable-content", [1, 0, "1"]),
        ("target-content-id", ["w", []]),
        ("interruption-level", ["passive", "active", "time-sensitive", "critical", "loud", nil]),
        ("relevance-score", [0, 0.25, 1, 1.01, "1"]),
        ("filter-criteria", ["f", [:]]),
    ]
    private static let lines: [(String, [JSONValue])] = [
        ("title", ["t", "", 1]), ("title-loc-key", ["T", nil]), ("title-loc-args", [["a"], [], ["a", 1]]),
        ("subtitle", ["s", nil]), ("subtitle-loc-key", ["S"]), ("subtitle-loc-args", [["a", "b"], "a"]),
        ("body", ["b", "é\n\u{0}"]), ("loc-key", ["B", ""]), ("loc-args", [["x"], nil]),
        ("launch-image", ["l", 1]), ("action-loc-key", ["A"]), ("sub-title", ["s"]),
    ]

    @Test("what is accepted is written so that reading it again gives the same, under every push type")
    func stable() throws {
        var generator = SeededRandom(seed: 41)
        var accepted = 0
        for _ in 0..<6_000 {
            var aps = Self.object(Self.members, chance: 4, &generator)
            if Bool.random(using: &generator) {
                aps["alert"] =
                    Bool.random(using: &generator) ? "text" : .object(Self.object(Self.lines, chance: 5, &generator))
            }
            let type = PushType.allCases.randomElement(using: &generator) ?? .alert
            let custom: JSONObject = ["mdm": "m", "container-identifier": "c"]
            // Whether it is refused, and why, is the business of the tables.
            guard let payload = try? PushPayload(type, aps: .object(aps), custom: type == .mdm ? ["mdm": "m"] : custom)
            else { continue }
            accepted += 1
            var written = try #require(try JSONValue.parse(payload.body).object)
            let apsWritten = written["aps"]
            written["aps"] = nil
            #expect(try PushPayload(type, aps: apsWritten, custom: written) == payload)
        }
        #expect(accepted > 300)
    }

    private static func object(
        _ members: [(String, [JSONValue])],
        chance: Int,
        _ generator: inout SeededRandom
    ) -> JSONObject {
        var object = JSONObject()
        for (key, values) in members where Int.random(in: 0..<chance, using: &generator) == 0 {
            object[key] = values.randomElement(using: &generator)
        }
        return object
    }
}

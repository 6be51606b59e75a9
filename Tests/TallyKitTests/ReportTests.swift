import Foundation
import TallyKit
import Testing

/// The bodies of reports, as `docs/openapi.yaml` has them.
@Suite("Reports")
struct ReportTests {
    private func body(_ report: Report?) throws -> NSDictionary {
        let data = try #require(report).body()
        return try #require(try JSONSerialization.jsonObject(with: data) as? NSDictionary)
    }

    @Test("of the phone")
    func phone() throws {
        var life = Life()
        life.reading.startTokens["Game_Attributes"] = "5747"
        life.launch()
        life.handle(.deviceToken("dd"))
        life.answerAll()
        let report = try #require(life.sent.last)
        #expect(report.path == "devices/\(life.machine.memory.deviceID)")
        #expect(
            try body(report) == [
                "environment": "production", "os_version": "18.1", "app_version": "2.10", "activities_enabled": true,
                "frequent_pushes_enabled": false, "device_token": "dd", "installation": report.installation,
                "start_tokens": ["Game_Attributes": ["token": "5747", "generation": report.number]],
            ]
        )
    }

    @Test("of a phone that has told nothing yet: what is unknown is absent")
    func unknown() throws {
        var life = Life()
        life.reading = Reading(types: ["GameAttributes"])
        life.launch()
        #expect(try body(life.sent.last).allKeys.count == 4)
    }

    @Test("of a card: how it is reached, or that it is gone")
    func card() throws {
        var life = Life.settled()
        life.handle(.starting(activity: "final", AppStart(revision: 3)))
        life.appear("card-1", token: "aa")
        life.answerAll()
        let live = try #require(life.sent.last)
        var expected: [String: Any] = [
            "update_token": "aa", "generation": live.number, "known_revision": 3, "activitykit_id": "card-1",
            "environment": "production", "installation": live.installation, "os_version": "18.1", "app_version": "2.10",
        ]
        #expect(live.path == "activities/final/subscriptions/\(life.machine.memory.deviceID)")
        #expect(try body(live) == expected as NSDictionary)
        life.turn("card-1", .dismissed)
        let gone = try #require(life.sent.last)
        expected["update_token"] = nil
        expected["known_revision"] = nil
        expected["ended"] = true
        expected["generation"] = gone.number
        #expect(try body(gone) == expected as NSDictionary)
    }

    @Test("of a card that has not begun: that it is pending, until it has begun")
    func pendingCard() throws {
        var life = Life.settled()
        life.schedule("card-1", token: "aa")
        life.answerAll()
        #expect(try body(life.sent.last)["pending"] as? Bool == true)
        life.turn("card-1", .active)
        #expect(try body(life.sent.last)["pending"] == nil)
    }

    @Test("dates of the API are read with and without fractions, and written as Tally reads them")
    func dates() throws {
        let read = try TallyJSON.decoder.decode(
            [Date].self,
            from: Data(#"["2026-03-01T17:00:00Z","2026-03-01T18:00:00.25+01:00"]"#.utf8)
        )
        #expect(read == [Date(timeIntervalSince1970: Life.start), Date(timeIntervalSince1970: Life.start + 0.25)])
        #expect(
            String(decoding: try TallyJSON.encoder.encode(read), as: UTF8.self).contains("2026-03-01T17:00:00.250Z")
        )
        #expect(throws: DecodingError.self) { try TallyJSON.decoder.decode([Date].self, from: Data("[1]".utf8)) }
    }
}

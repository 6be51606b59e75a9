import APITypes
import ActivityModel
import JSON
import SystemSupport
import TallyClient
import TestSupport
import Testing

/// Real programs: somebody on call types `tally activities explain`, and reads why a card stands still.
@Suite("Why a phone shows what it shows")
struct TimelineTests {
    private static let id = knownGood(ActivityID("explained"))

    private static func content(minute: Int64) -> JSONObject {
        ["homeScore": 0, "awayScore": 0, "minute": .number(JSONNumber(minute)), "period": "firstHalf"]
    }

    private static func explain(_ device: String?, in system: TallySystem) async throws -> String {
        let (ending, output, errors) = try await RunningProgram.run(
            "tally",
            ["activities", "explain", id.rawValue] + (device.map { ["--device", $0] } ?? []),
            environment: [
                "TALLY_URL": system.url, "TALLY_API_KEY": TallySystem.adminKey,
                "TALLY_APP": TallySystem.app.rawValue,
            ],
            in: system.folder
        )
        guard ending == .exited(0) else { throw Failure("explain: \(ending) \(errors)") }
        return output
    }

    /// Sentences are broken into lines for 80 columns.
    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test("a dead token, a withheld device, a merged revision and a refused request are told of in words")
    func explains() async throws {
        try await TallySystem.with { system in
            let client = try system.client()
            try await system.simulator.makePhones("fan-", count: 2, of: TallySystem.app, follows: Self.id)
            try await system.simulator.finishReports()
            _ = try await client.putDevice(
                TallySystem.app,
                knownGood(DeviceID("old")),
                DeviceRequest(environment: .production, osVersion: knownGood(OSVersion("16.4")))
            )
            _ = try await client.start(
                TallySystem.app,
                Self.id,
                StartRequest(
                    type: TallySystem.type,
                    attributes: ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"],
                    contentState: Self.content(minute: 0),
                    audience: Audience(devices: ["fan-1", "fan-2", "old"].map { knownGood(DeviceID($0)) }),
                    alert: AlertContent(title: .plain("Ajax – PSV"), body: .plain("Kick-off"))
                )
            )
            try await eventually("both phones have reported their tokens") {
                try await system.activity(Self.id).progress.current == 2
            }
            // The card is swiped away while the app cannot report it.
            try await system.simulator.act("force-quit", at: "fan-1", activity: Self.id)
            try await system.simulator.act("swipe-away", at: "fan-1", activity: Self.id)
            for minute in 1...8 {
                _ = try await client.update(
                    TallySystem.app,
                    Self.id,
                    UpdateRequest(contentState: Self.content(minute: Int64(minute)))
                )
            }
            let refused = try await system.api().send(
                "POST",
                "/v1/apps/\(TallySystem.app)/activities/\(Self.id)/updates",
                Array(#"{"content_state":{"minute":"soon"}}"#.utf8)
            )
            #expect(refused.status == 422)
            try await eventually("the newest state is where it can be, and the token is dead") {
                let progress = try await system.activity(Self.id).progress
                return progress.current == 1 && progress.pending == 0 && progress.dead == 1
            }
            // The timeline is written in the background, the answers of APNs and the refused requests each on their own.
            let dead = try await eventually("the dead token's push and the refused request are told of") {
                () -> String? in
                let text = Self.oneLine(try await Self.explain("fan-1", in: system))
                return text.contains("was refused by APNs") && text.contains("An update was refused") ? text : nil
            }
            #expect(dead.contains("APNs said"))
            #expect(dead.contains("that the update token is no longer active (410 Unregistered)"))
            #expect(dead.contains("it was merged into revision"))
            #expect(dead.contains("An update was refused: 422 invalid_content_state."))
            #expect(dead.contains("apns-id "))

            let old = Self.oneLine(try await Self.explain("old", in: system))
            #expect(old.contains("The device is not started: it has an iOS before 17.2"))

            let well = try await eventually("the newest revision's push is told of") { () -> String? in
                let text = try await Self.explain("fan-2", in: system)
                return Self.oneLine(text).contains("Revision 9 was accepted by APNs at priority 5") ? text : nil
            }
            #expect(well.split(separator: "\n").allSatisfy { $0.count <= 80 })

            let whole = Self.oneLine(try await Self.explain(nil, in: system))
            #expect(whole.contains("Revision 9 was accepted by APNs for the only destination."))
            #expect(whole.contains("1 with a dead token"))
        }
    }
}

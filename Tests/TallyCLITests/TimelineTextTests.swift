import APITypes
import ActivityModel
import ArgumentParser
import Testing

@testable import tally

@Suite("A timeline for people")
struct TimelineTextTests {
    private func entry(
        _ at: String,
        _ kind: String,
        _ text: String,
        _ change: (inout TimelineEntry) -> Void = { _ in }
    ) throws -> TimelineEntry {
        var entry = TimelineEntry(at: try #require(Instant(at)), kind: kind, text: text)
        change(&entry)
        return entry
    }

    private func answer(device: String?) throws -> TimelineAnswer {
        TimelineAnswer(
            activityID: ActivityID(stored: "final"),
            deviceID: device.map { DeviceID(stored: $0) },
            state: .live,
            revision: 15,
            verdict: Verdict(
                "sent_over_budget",
                "Revision 15 was accepted by APNs at priority 10; this phone's budget was likely used up (11 of 10)."
            ),
            page: Page(items: [
                try entry("2022-12-19T00:00:01.5Z", "push", "The update was accepted by APNs (priority 10, 12 ms).") {
                    $0.deviceID = DeviceID(stored: "fan-1")
                    $0.outcome = "accepted"
                    $0.apnsID = "3F2B"
                },
                try entry(
                    "2022-12-18T23:59:59.123456Z",
                    "accepted",
                    "Revision 14 was accepted: update. Before APNs accepted an update with it, it was merged into revision 15."
                ),
            ])
        )
    }

    private let plain = Style(isColoured: false)

    @Test("the verdict stands first, and time runs downwards, day by day, within 80 columns")
    func device() throws {
        let text = TimelineText(answer: try answer(device: "fan-1"), style: plain).text
        #expect(
            text == """
                final on fan-1: live, revision 15
                Revision 15 was accepted by APNs at priority 10; this phone's budget was likely
                used up (11 of 10).

                2022-12-18 UTC
                  23:59:59.123  Revision 14 was accepted: update. Before APNs accepted an update
                                with it, it was merged into revision 15.
                2022-12-19 UTC
                  00:00:01.500  The update was accepted by APNs (priority 10, 12 ms).
                                apns-id 3F2B
                """
        )
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test("a narrow terminal gets narrow lines")
    func narrow() throws {
        let text = TimelineText(answer: try answer(device: "fan-1"), style: plain, width: 40).text
        #expect(text.contains("\nRevision 15 was accepted by APNs at\npriority 10;"))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 40 })
    }

    @Test("in the story of an activity each entry says whose it is")
    func activity() throws {
        let text = TimelineText(answer: try answer(device: nil), style: plain).text
        #expect(text.hasPrefix("final: live, revision 15\n"))
        #expect(text.hasSuffix("00:00:01.500  fan-1: The update was accepted by APNs (priority 10, 12 ms)."))
    }

    @Test("colours are added to the same words")
    func colours() throws {
        let answer = try answer(device: "fan-1")
        let coloured = TimelineText(answer: answer, style: Style(isColoured: true)).text
        #expect(coloured.contains("\u{1B}[32mThe update was accepted by APNs (priority 10, 12 ms).\u{1B}[0m"))
        #expect(coloured.contains("\u{1B}[33mused up (11 of 10).\u{1B}[0m"))
        let stripped = coloured.replacing(/\u{1B}\[[0-9]+m/, with: "")
        #expect(stripped == TimelineText(answer: answer, style: plain).text)
    }

    @Test("nothing on record is said, and a word longer than a line stays whole")
    func edges() throws {
        var answer = try answer(device: nil)
        answer.page.items = []
        #expect(TimelineText(answer: answer, style: plain).text.hasSuffix("\n\nNothing is on record."))
        #expect(WrappedText.lines(of: "a \(String(repeating: "b", count: 9)) c", width: 5) == ["a", "bbbbbbbbb", "c"])
        #expect(WrappedText.lines(of: "", width: 5) == [])
    }

    @Test("activities explain takes a device and a page")
    func command() throws {
        let words = ["activities", "explain", "final", "--device", "fan-1", "--limit", "5"]
        let command = try #require(try TallyCommand.parseAsRoot(words) as? Activities.Explain)
        #expect(command.id.value.rawValue == "final")
        #expect(command.device?.value.rawValue == "fan-1")
        #expect(command.page.request == PageRequest(limit: 5))
    }
}

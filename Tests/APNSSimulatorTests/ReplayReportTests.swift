import APITypes
import ActivityModel
import JSON
import Testing

@testable import APNSSimulator

@Suite("The report on a replay")
struct ReplayReportTests {
    private static let second: JSONValue = ["homeScore": 2, "awayScore": 0, "minute": 36, "period": "first_half"]

    private func post(_ revision: Revision, at seconds: Int64, _ state: JSONValue?, _ kind: ChangeKind) -> Post {
        Post(
            activityID: Sample.final,
            revision: revision,
            timestamp: nil,
            postedAt: Sample.moment(seconds).milliseconds,
            contentState: state,
            kind: kind
        )
    }

    private func report(_ posts: [Post], _ phones: [Phone]) -> ReplayReport {
        ReplayReport(posts: posts, phones: phones, reportsPending: 0, now: Sample.moment(60).milliseconds)
    }

    @Test("a phone that shows the newest content is right")
    func right() {
        var phone = Phone.started()
        _ = phone.change(Sample.updateBody(at: 10) { $0["content-state"] = Self.second }, at: 12)
        let result = report([post(1, at: -1, Sample.state, .start), post(2, at: 10, Self.second, .update)], [phone])
        #expect(result.right == 1)
        #expect(result.isRight)
        #expect(result.latency == ReplayReport.Latency(p50: 2000, p99: 2000, maximum: 2000, measured: 1, caughtUp: 1))
        #expect(result.pushes.map(\.event) == ["start", "update"])
    }

    @Test("what is wrong with a phone is said")
    func wrong() {
        let start = post(1, at: -1, Sample.state, .start)
        let update = post(2, at: 10, Self.second, .update)
        let end = post(3, at: 20, nil, .end)
        var ignoring = Phone.started()
        _ = ignoring.change(Sample.updateBody(at: 0) { $0["content-state"] = Self.second })
        var ended = Phone.started()
        _ = ended.change(Sample.updateBody(at: 10, event: "end"))
        let cases: [([Post], Phone, String?)] = [
            ([start, update], Phone.started(), "shows revision 1 of 2 (last push ignored: same timestamp)"),
            ([start], Phone.launched(), "shows no card"),
            ([start, end], Phone.started(), "has not ended"),
            ([start], ended, "has ended too early"),
            ([update], Phone.started(), "shows content that was not posted"),
            ([start, end], ended, nil),
        ]
        for (number, (posts, phone, why)) in cases.enumerated() {
            let phone = number == 0 ? ignoring : phone
            let result = report(posts, [phone])
            #expect(result.wrong.map(\.why) == (why.map { [$0] } ?? []))
            #expect(result.right == (why == nil ? 1 : 0))
        }
    }

    @Test("a phone that follows nothing posted is not counted")
    func unconcerned() {
        let phone = Phone.launched(Sample.profile(follows: [ActivityID(stored: "semi")]))
        #expect(report([post(1, at: 0, Sample.state, .start)], [phone]).phones == 0)
    }

    @Test(
        "each post is measured once per phone, ignored pushes and what was posted before the phone could be reached never"
    )
    func latency() {
        var phone = Phone.started()
        _ = phone.change(Sample.updateBody(at: 10) { $0["content-state"] = Self.second }, at: 12)
        _ = phone.change(Sample.updateBody(at: 11) { $0["content-state"] = Self.second }, at: 13)
        _ = phone.change(Sample.updateBody(at: 11) { $0["content-state"] = Self.second }, at: 14)
        let posts = [post(1, at: 0, Sample.state, .start), post(2, at: 10, Self.second, .update)]
        let result = report(posts, [phone])
        #expect(result.latency.measured == 2)
        #expect(result.latency.maximum == 2000)
        #expect(result.ignored == [ReplayReport.IgnoredCount(reason: "same timestamp", count: 1)])
        // The token came a second after the start: a state posted before that is caught up.
        let early = report([post(1, at: -1, Sample.state, .start), post(2, at: 0, Self.second, .update)], [phone])
        #expect(early.latency.measured == 0)
        #expect(early.latency.caughtUp == 2)
    }

    @Test("the report survives its JSON form and fits 80 columns")
    func forms() throws {
        let phones = (1...12).map { Phone.launched(Sample.profile("a-phone-with-a-rather-long-name-number-\($0)")) }
        let result = report([post(1, at: 0, Sample.state, .start)], phones + [Phone.started()])
        #expect(try ReplayReport(json: result.json) == result)
        let lines = result.table.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(lines.first.map(String.init) == "phones right" + String(repeating: " ", count: 35) + "1 of 13")
        #expect(lines.last == "  and 2 more")
    }

    @Test("posts are read from JSON lines, and a wrong line is named")
    func posts() throws {
        let line = post(2, at: 10, Self.second, .update).json.text
        #expect(try Post.read(lines: Array("\(line)\n\n\(line)\n".utf8)).count == 2)
        let wrong = #expect(throws: Problem.self) { try Post.read(lines: Array("\(line)\n\n{}".utf8)) }
        #expect(wrong?.detail.hasPrefix("Line 3 ") == true)
    }
}

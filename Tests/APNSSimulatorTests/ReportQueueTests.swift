import ActivityModel
import Testing

@testable import APNSSimulator

@Suite("A phone's reports")
struct ReportQueueTests {
    private func token(_ hex: String, generation: Int64, activity: String = "final") -> PhoneReport {
        .subscription(
            SubscriptionReport(
                activityID: ActivityID(stored: activity),
                link: .token(hex),
                activityKitID: "A",
                generation: generation
            )
        )
    }

    private let device = PhoneReport.device(DeviceReport(startTokens: [:], generation: 1))

    @Test("reports go one at a time, in order")
    func order() {
        var queue = ReportQueue()
        #expect(queue.submit(device) == .send)
        #expect(queue.submit(token("aa", generation: 1)) == .none)
        #expect(queue.first == device)
        #expect(queue.succeeded() == .send)
        #expect(queue.first == token("aa", generation: 1))
        #expect(queue.succeeded() == .none)
        #expect(queue.accepted == 2)
        #expect(queue.submit(device) == .send)
    }

    @Test("a newer report takes the place of an unsent one, never of one on its way")
    func replacement() {
        var queue = ReportQueue()
        _ = queue.submit(token("aa", generation: 1))
        _ = queue.submit(token("bb", generation: 2))
        _ = queue.submit(token("cc", generation: 3))
        _ = queue.submit(token("dd", generation: 1, activity: "semi"))
        #expect(queue.pendingCount == 3)
        #expect(queue.first == token("aa", generation: 1))
        _ = queue.succeeded()
        #expect(queue.first == token("cc", generation: 3))
    }

    @Test("a failed report waits longer each time, up to 5 seconds, and is sent again")
    func backOff() {
        var queue = ReportQueue()
        _ = queue.submit(device)
        var waits: [ReportQueue.Action] = []
        for _ in 1...7 {
            waits.append(queue.failed("unreachable", jitter: 0))
            #expect(queue.submit(device) == .none)
            #expect(queue.waited() == .send)
        }
        #expect(waits == [200, 400, 800, 1600, 3200, 5000, 5000].map { .wait(milliseconds: $0) })
        #expect(queue.lastError == "unreachable")
        #expect(queue.pendingCount == 1)
        _ = queue.succeeded()
        #expect(queue.lastError == nil)
        #expect(queue.failures == 0)
    }

    @Test("jitter shortens a wait by at most a half", arguments: [(0.0, 200), (0.5, 150), (1.0, 100)])
    func jitter(_ jitter: Double, _ milliseconds: Int64) {
        var queue = ReportQueue()
        _ = queue.submit(device)
        #expect(queue.failed("x", jitter: jitter) == .wait(milliseconds: milliseconds))
    }

    @Test("a failed report is given up when a newer one about the same thing waits")
    func supersededFailure() {
        var queue = ReportQueue()
        _ = queue.submit(token("aa", generation: 1))
        _ = queue.submit(token("bb", generation: 2))
        _ = queue.failed("x", jitter: 0)
        #expect(queue.first == token("bb", generation: 2))
        #expect(queue.pendingCount == 1)
    }
}

import Foundation
import FoundationNetworking
import Synchronization
@testable import TallyKit
import Testing

private let someReceipts = News.receipts([Receipt(card: "card-1", activity: "final", revision: 2, age: 5000)])

/// Reports on their way: the app's session, the one of iOS, and the answers of both.
@MainActor
@Suite("The sender of reports", .serialized)
struct ReportSenderTests {
    /// A server that answers as a test says, in the place of the network.
    final class Network: URLProtocol {
        struct Reply: Sendable {
            var status = 200
            var headers: [String: String] = [:]
            var body = #"{"accepted":true}"#
        }

        struct State: Sendable {
            var requests: [URLRequest] = []
            /// Nil: the connection breaks.
            var reply: Reply? = Reply()
            /// Requests are held until the test lets them go on.
            var isHolding = false
            var held: [Held] = []
        }

        /// Its session waits until the test answers it, so nobody else touches it.
        struct Held: @unchecked Sendable {
            let network: Network

            func answer(_ reply: Reply?) { network.answer(reply) }
        }

        static let state = Mutex(State())

        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

        override func startLoading() {
            let isHeld = Self.state.withLock { state in
                state.requests.append(request)
                if state.isHolding { state.held.append(Held(network: self)) }
                return state.isHolding
            }
            if !isHeld { answer(Self.state.withLock { $0.reply }) }
        }

        override func stopLoading() {}

        func answer(_ reply: Reply?) {
            guard let reply, let url = request.url,
                let response = HTTPURLResponse(
                    url: url,
                    statusCode: reply.status,
                    httpVersion: "HTTP/1.1",
                    headerFields: reply.headers
                )
            else {
                client?.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost))
                return
            }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data(reply.body.utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
    }

    private let folder = FileManager.default.temporaryDirectory.appending(path: "TallyKitTests-\(UUID().uuidString)")
    private let events: AsyncStream<PhoneEvent>
    private let sender: ReportSender

    init() throws {
        Network.state.withLock { $0 = Network.State() }
        let (events, newEvent) = AsyncStream<PhoneEvent>.makeStream()
        self.events = events
        sender = ReportSender(
            server: try #require(URL(string: "https://tally.example.com:8443")),
            app: "com.example.matchday",
            folder: folder,
            adjust: { $0.protocolClasses = [Network.self] },
            take: { newEvent.yield($0) }
        )
    }

    private static func report(
        _ number: Int,
        _ subject: Subject = .activity("final"),
        _ news: News = .card(CardNews(card: "card-1", reach: .gone))
    ) -> Report {
        Report(
            number: number,
            subject: subject,
            deviceID: "phone-1",
            installation: "first",
            ticket: "a ticket",
            news: news,
            facts: PhoneFacts(environment: "production", osVersion: "18.1", appVersion: "2.10")
        )
    }

    private func nextEvent() async throws -> PhoneEvent {
        for await event in events { return event }
        throw CancellationError()
    }

    private var bodies: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "TallyKit").path).sorted()
        }
    }

    /// Returns when so many requests are held.
    private func held(_ count: Int) async throws -> [Network.Held] {
        while true {
            let held = Network.state.withLock { $0.held }
            if held.count >= count { return held }
            await Task.yield()
        }
    }

    @Test("a report is a PUT to its path with its ticket, and its answer comes back")
    func sends() async throws {
        sender.send(Self.report(7))
        guard case .answer(7, let answer) = try await nextEvent() else { return #expect(Bool(false)) }
        #expect(answer == Answer(status: 200, body: AnswerBody(accepted: true)))
        let request = try #require(Network.state.withLock { $0.requests }.first)
        #expect(request.httpMethod == "PUT")
        #expect(
            request.url?.absoluteString
                == "https://tally.example.com:8443/v1/apps/com.example.matchday/activities/final/subscriptions/phone-1"
        )
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer a ticket")
    }

    @Test("a busy server's time to wait is taken from its own clock")
    func busy() async throws {
        Network.state.withLock {
            $0.reply = Network.Reply(
                status: 503,
                headers: [
                    "Date": "Sun, 01 Mar 2026 17:00:00 GMT", "Retry-After": "Sun, 01 Mar 2026 17:02:00 GMT",
                ],
                body: "busy"
            )
        }
        sender.send(Self.report(7))
        guard case .answer(7, let answer) = try await nextEvent() else { return #expect(Bool(false)) }
        #expect(answer == Answer(status: 503, retryAfter: 120))
    }

    @Test("a connection that breaks is no answer")
    func breaks() async throws {
        Network.state.withLock { $0.reply = nil }
        sender.send(Self.report(7))
        guard case .noAnswer(7) = try await nextEvent() else { return #expect(Bool(false)) }
    }

    @Test("iOS gets a report once, and its body is removed with the answer; the app's broken connection tells nothing")
    func handsOver() async throws {
        Network.state.withLock { $0.isHolding = true }
        sender.send(Self.report(7))
        _ = try await held(1)
        sender.handOver()
        #expect(try bodies == ["report-7.json"])
        sender.handOver()
        let held = try await held(2)
        held[0].answer(nil)
        held[1].answer(Network.Reply())
        guard case .answer(7, let answer) = try await nextEvent() else { return #expect(Bool(false)) }
        #expect(answer.status == 200)
        #expect(try bodies.isEmpty)
        #expect(Network.state.withLock { $0.requests }.count == 2)
    }

    @Test("receipts are a POST, and the answer says of which share of cards Tally wants them")
    func receipts() async throws {
        Network.state.withLock { $0.reply?.body = #"{"device_id":"phone-1","receipt_sampling":0.25}"# }
        sender.send(Self.report(7, .receipts, someReceipts))
        guard case .answer(7, let answer) = try await nextEvent() else { return #expect(Bool(false)) }
        #expect(answer == Answer(status: 200, body: AnswerBody(receiptSampling: 0.25)))
        let request = try #require(Network.state.withLock { $0.requests }.first)
        #expect(request.httpMethod == "POST")
        #expect(
            request.url?.absoluteString
                == "https://tally.example.com:8443/v1/apps/com.example.matchday/devices/phone-1/receipts"
        )
    }

    @Test(
        "what would be wrong if it came late is not left to iOS: topics and receipts",
        arguments: [(.topics, .topics(["team:ajax"])), (.receipts, someReceipts)] as [(Subject, News)]
    )
    func keeps(subject: Subject, news: News) async throws {
        Network.state.withLock { $0.isHolding = true }
        sender.send(Self.report(7, subject, news))
        let held = try await held(1)
        sender.handOver()
        // If iOS had it, no event would come.
        try #require(!FileManager.default.fileExists(atPath: folder.appending(path: "TallyKit").path))
        held[0].answer(nil)
        guard case .noAnswer(7) = try await nextEvent() else { return #expect(Bool(false)) }
        #expect(Network.state.withLock { $0.requests }.count == 1)
    }

    @Test("bodies of a process that was killed are removed, and nothing else")
    func removesOldBodies() async throws {
        let files = folder.appending(path: "TallyKit")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        for name in ["report-3.json", "memory.json"] { try Data().write(to: files.appending(path: name)) }
        Network.state.withLock { $0.isHolding = true }
        sender.send(Self.report(7))
        sender.handOver()
        await sender.removeOldBodies()
        #expect(try bodies == ["memory.json", "report-7.json"])
    }

    @Test(
        "how long a server wants to be left alone",
        arguments: [
            (nil, nil), ("120", 120), (" 7 ", 7), ("-5", nil), ("soon", nil), ("nan", nil),
            ("Sun, 01 Mar 2026 17:02:00 GMT", 120), ("Sun, 01 Mar 2026 16:00:00 GMT", 0),
        ] as [(String?, Double?)]
    )
    func retryAfter(value: String?, seconds: Double?) {
        let now = Date(timeIntervalSince1970: Life.start)
        #expect(RetryAfter.seconds(value, sentAt: nil, now: now) == seconds)
        let server = "Sun, 01 Mar 2026 17:00:00 GMT"
        #expect(RetryAfter.seconds(value, sentAt: server, now: now.addingTimeInterval(86_400)) == seconds)
    }
}

import Foundation
import FoundationNetworking
import HTTPTypes
import Logging
import ServiceLifecycle
import Record
import TestSupport
import Testing

@testable import HTTPAPI

@Suite("HTTP server")
struct HTTPServerTests {
    @Test("It tells its addresses, serves on them, and returns when the group shuts down", .timeLimit(.minutes(1)))
    func servesAndStops() async throws {
        let configuration = HTTPServerConfiguration {
            $0.port = 0
            $0.metricsListener = (host: "127.0.0.1", port: 0)
        }
        try await Self.withServer(RecordingService(), configuration) { group, addresses in
            var urls: [ListeningAddress.Purpose: String] = [:]
            for await address in addresses {
                #expect(address.port != 0)
                urls[address.purpose] = address.url
                if urls.count == 2 { break }
            }
            let api = try #require(urls[.api])
            let metrics = try #require(urls[.metrics])
            #expect(try await Self.status(api + "/health/live") == 200)
            #expect(try await Self.status(api + "/v1/apps") == 401)
            #expect(try await Self.status(api + "/v1/apps", key: "admin") == 418)
            #expect(try await Self.status(api + "/metrics") == 401)
            #expect(try await Self.status(metrics + "/metrics") == 200)
            #expect(try await Self.status(metrics + "/v1/apps", key: "admin") == 404)
            let header = String(repeating: "x", count: 20_000)
            #expect(try await Self.status(api + "/health/live", key: header) != 200)
            await group.triggerGracefulShutdown()
        }
    }

    @Test(
        "Phones have a listener of their own, which takes reports with tickets and hides the rest",
        .timeLimit(.minutes(1))
    )
    func phonesListener() async throws {
        let configuration = HTTPServerConfiguration {
            $0.port = 0
            $0.phonesListener = (host: "127.0.0.1", port: 0)
        }
        try await Self.withServer(RecordingService(), configuration) { group, addresses in
            let phones = try #require(await addresses.first { $0.purpose == .phones }).url
            let app = phones + "/v1/apps/com.example.mine"
            let device = app + "/devices/d1"
            let card = app + "/activities/a1/subscriptions/d1"
            let token = #"{"update_token":"00ff"}"#
            #expect(try await Self.status(device, .put, key: "ticket", body: Bodies.device) == 418)
            #expect(try await Self.status(card, .put, key: "ticket", body: token) == 418)
            #expect(try await Self.status(app + "/devices/d2", .put, key: "ticket", body: Bodies.device) == 403)
            for (url, body) in [(device, Bodies.device), (card, token)] {
                for key in [nil, "admin", "register", "nobody"] {
                    #expect(try await Self.status(url, .put, key: key, body: body) == 401, "\(url) \(key ?? "no key")")
                }
            }
            for key in [nil, "ticket", "admin"] {
                for path in ["/v1/apps", "/health/live", "/health/ready", "/metrics", "/openapi.yaml", "/"] {
                    #expect(try await Self.status(phones + path, key: key) == 404, "\(path)")
                }
                for (method, url) in [
                    (HTTPRequest.Method.get, device), (.delete, device), (.delete, card), (.post, device),
                ] {
                    #expect(try await Self.status(url, method, key: key) == 404, "\(method) \(url)")
                }
                let tickets = app + "/registration-tickets"
                #expect(try await Self.status(tickets, .post, key: key, body: "{}") == 404)
            }
            await group.triggerGracefulShutdown()
        }
    }

    @Test("It holds a key to the rate that is configured, and serves health all the same", .timeLimit(.minutes(1)))
    func limitsRates() async throws {
        var configuration = HTTPServerConfiguration { $0.port = 0 }
        configuration.requestsPerSecond = 1
        try await Self.withServer(RecordingService(), configuration) { group, addresses in
            var iterator = addresses.makeAsyncIterator()
            let url = try #require(await iterator.next()).url
            var statuses: [Int] = []
            while statuses.last != 429, statuses.count < 200 {
                statuses.append(try await Self.status(url + "/v1/apps", key: "admin"))
            }
            #expect(statuses.first == 418)
            #expect(statuses.last == 429)
            #expect(try await Self.status(url + "/health/live") == 200)
            await group.triggerGracefulShutdown()
        }
    }

    @Test(
        "It ends the streams of its readers when the group shuts down, and waits for no more",
        .timeLimit(.minutes(1))
    )
    func endsStreams() async throws {
        let service = RecordingService()
        service.answer(EventCursor.oldest)
        service.holdReaders()
        try await Self.withServer(service, HTTPServerConfiguration { $0.port = 0 }) { group, addresses in
            var iterator = addresses.makeAsyncIterator()
            let url = try #require(await iterator.next()).url
            var request = URLRequest(url: try #require(URL(string: url + "/v1/events")))
            request.setValue("Bearer admin", forHTTPHeaderField: "Authorization")
            let session = URLSession(configuration: .ephemeral)
            defer { session.invalidateAndCancel() }
            async let answer = session.data(for: request)
            try await eventually("the reader waits", every: .milliseconds(5)) {
                service.calls.contains("nextEvents after 0-0 - - - -")
            }
            await group.triggerGracefulShutdown()
            let (data, response) = try await answer
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(String(decoding: data, as: UTF8.self) == "retry: 1000\n: \nid: 0-0\n\n")
        }
    }

    @Test("One that cannot have an address ends, and says which it is", .timeLimit(.minutes(1)))
    func addressTaken() async throws {
        let service = RecordingService()
        try await Self.withServer(service, HTTPServerConfiguration { $0.port = 0 }) { group, addresses in
            var iterator = addresses.makeAsyncIterator()
            let taken = try #require(await iterator.next())
            let words = "Address already in use"
            await #expect {
                try await Self.withServer(service, HTTPServerConfiguration { $0.port = taken.port }) { _, _ in }
            } throws: { error in
                "\(error)" == "cannot listen for the API on \(taken.url): \(words) (TALLY_HTTP_HOST, TALLY_HTTP_PORT)"
            }
            let metrics = (host: taken.host, port: taken.port)
            await #expect {
                let configuration = HTTPServerConfiguration {
                    $0.port = 0
                    $0.metricsListener = metrics
                }
                try await Self.withServer(service, configuration) { _, _ in }
            } throws: { error in
                let settings = "TALLY_METRICS_HOST, TALLY_METRICS_PORT"
                return "\(error)" == "cannot listen for metrics on \(taken.url): \(words) (\(settings))"
            }
            await group.triggerGracefulShutdown()
        }
    }

    @Test(
        "An address says how it is reached",
        arguments: [
            ("127.0.0.1", "http://127.0.0.1:80"), ("::1", "http://[::1]:80"), ("localhost", "http://localhost:80"),
        ]
    )
    func url(host: String, url: String) {
        #expect(ListeningAddress(.api, host: host, port: 80).url == url)
    }

    /// Runs a server until `body` has told its group to shut down and it has stopped.
    private static func withServer(
        _ service: RecordingService,
        _ configuration: HTTPServerConfiguration,
        _ body: (ServiceGroup, AsyncStream<ListeningAddress>) async throws -> Void
    ) async throws {
        let (addresses, listening) = AsyncStream.makeStream(of: ListeningAddress.self)
        let server = HTTPServer(
            service: service,
            configuration: configuration,
            metrics: PrometheusMetrics(),
            onListening: { listening.yield($0) },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        let group = ServiceGroup(configuration: .init(services: [server], logger: Logger(label: "group")))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await body(group, addresses)
            try await tasks.waitForAll()
        }
    }

    private static func status(
        _ text: String,
        _ method: HTTPRequest.Method = .get,
        key: String? = nil,
        body: String? = nil
    ) async throws -> Int {
        var request = URLRequest(url: try #require(URL(string: text)))
        request.httpMethod = method.rawValue
        if let body {
            request.httpBody = Data(body.utf8)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        if let key { request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization") }
        // A session of its own: its connections end with it, so that shutdown waits for none.
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let (_, response) = try await session.data(for: request)
        return (response as? HTTPURLResponse)?.statusCode ?? 0
    }
}

import APITypes
import ActivityModel
import Foundation
import JSON
import NIOCore
import NIOPosix
import TLSEngine
import TestSupport
import Testing

@testable import TallyClient

private let app = BundleID(stored: "com.example.matchday")
private let match = ActivityID(stored: "match-1")
private let accepted = #"{"activity_id":"match-1","revision":2,"timestamp":null}"#

@Suite("Tally client over TLS", .timeLimit(.minutes(3)))
struct HTTPSTests {
    private func client(
        _ host: String,
        _ front: TLSFront,
        caFile: String?,
        retry: RetryPolicy? = RetryPolicy(firstDelay: .milliseconds(1), longestDelay: .milliseconds(20))
    ) throws -> TallyClient {
        try TallyClient(
            .init(
                url: "https://\(host):\(front.port)/prefix",
                key: "secret-key",
                caFile: caFile,
                requestTimeout: .seconds(150),
                deadline: .seconds(150),
                retry: retry
            )
        )
    }

    @Test(
        "A server is believed whose certificate names it and is signed by an authority of the file",
        arguments: ["alpn h2,http/1.1", "alpn h2", "", "ssl-max-ver TLSv1.2"]
    )
    func trusted(options: String) async throws {
        let server = try ScriptedServer { _, _ in .answer(status: 202, body: accepted) }
        defer { server.stop() }
        try await TLSFront.with(server, options: options) { front in
            for host in ["localhost", "127.0.0.1"] {
                let client = try client(host, front, caFile: front.caFile)
                for number in 1...3 {
                    // More than one record of TLS, in both directions.
                    let state: JSONObject = ["text": .string(String(repeating: "x", count: 40_000 * number))]
                    let answer = try await client.update(app, match, UpdateRequest(contentState: state))
                    #expect(answer == .accepted(activityID: match, revision: 2, timestamp: nil, unchanged: false))
                }
            }
            #expect(server.received.count == 6)
            #expect(server.received.last?.target == "/prefix/v1/apps/com.example.matchday/activities/match-1/updates")
            #expect(server.received.last?.headers["host"] == "127.0.0.1:\(front.port)")
            #expect(server.received.last?.body.utf8.count ?? 0 > 120_000)
        }
    }

    @Test(
        "Another host and an authority that nobody trusts get nothing, not even a second try"
    )
    func untrusted() async throws {
        let server = try ScriptedServer { _, _ in .answer(status: 202, body: accepted) }
        defer { server.stop() }
        try await TLSFront.with(server) { front in
            // Only to wait for the proxy.
            let trusting = try client("localhost", front, caFile: front.caFile)
            _ = try await trusting.update(app, match, UpdateRequest(contentState: [:]))
            let before = server.received.count
            for (host, caFile) in [("127.0.0.2", front.caFile), ("localhost", nil)] {
                let client = try client(host, front, caFile: caFile)
                let error = try await #require(throws: ClientError.self) {
                    try await client.update(app, match, UpdateRequest(contentState: [:]))
                }
                #expect(error.code == .untrusted)
                #expect(error.detail.contains(host))
                #expect(!error.detail.contains("secret-key"))
            }
            #expect(server.received.count == before)
        }
    }

    @Test("A host with an address that does not answer is reached by its other one")
    func twoAddresses() async throws {
        let full = try FullListener()
        defer { full.close() }
        let server = try ScriptedServer { _, _ in .answer(status: 202, body: accepted) }
        defer { server.stop() }
        try await TLSFront.with(server) { front in
            // Only to wait for the proxy.
            let waiting = try client("localhost", front, caFile: front.caFile)
            _ = try await waiting.update(app, match, UpdateRequest(contentState: [:]))
            let silent = try #require("\(full.address)".split(separator: ":").last.flatMap { Int($0) })
            let addresses = [
                try SocketAddress(ipAddress: "127.0.0.1", port: silent),
                try SocketAddress(ipAddress: "127.0.0.1", port: Int(front.port)),
            ]
            let connection = try await HTTPConnection.open(
                to: try #require(ServerAddress("https://localhost:\(front.port)")),
                tls: try .client(caFile: front.caFile, for: .http1),
                timeout: .seconds(150),
                resolver: FixedResolver(addresses: addresses)
            )
            #expect(connection.isOpen)
        }
    }

    @Test("A server that does not speak TLS is said to be one", .timeLimit(.minutes(1)))
    func plain() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(PlainServer())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { listener.close(promise: nil) }
        let url = "https://127.0.0.1:\(try #require(listener.localAddress?.port))"
        let client = try TallyClient(.init(url: url, key: "secret-key", retry: nil))
        let error = try await #require(throws: ClientError.self) {
            try await client.update(app, match, UpdateRequest(contentState: [:]))
        }
        #expect(error.code == .unreachable)
        #expect(!error.isUnknown)
        #expect(error.detail.hasPrefix("\(url) does not answer in TLS, as https asks for: TLS "))
    }

    @Test("A file of certificates that is none is named at once")
    func caFile() throws {
        let error = try #require(throws: ClientError.self) {
            try TallyClient(.init(url: "https://localhost", key: "k", caFile: "/does/not/exist.pem"))
        }
        #expect(error.code == .invalidCAFile)
        #expect(error.detail.contains("/does/not/exist.pem"))
    }
}

/// Answers in plain HTTP whatever comes, as a web server does that is spoken to in TLS.
private final class PlainServer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n")), promise: nil)
    }
}

/// Finds these addresses for every host.
private struct FixedResolver: Resolver {
    let addresses: [SocketAddress]
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    init(addresses: [SocketAddress]) {
        self.addresses = addresses
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses)
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture([])
    }

    func cancelQueries() {}
}

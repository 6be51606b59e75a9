import APNSTransport
import Foundation
import HTTP2TestSupport
import Logging
import Testing

/// Pushes over one connection at a time.
@Suite("Many pushes to servers that others made", .timeLimit(.minutes(5)), .serialized, .bothSessions)
struct ManyRequestsTests {
    /// `TALLY_TEST_PUSHES=10000` for a thorough run, which takes ten minutes.
    private static let pushes =
        ProcessInfo.processInfo.environment["TALLY_TEST_PUSHES"].flatMap { Int($0) } ?? 2000

    @Test(
        "each push is accepted once, whatever limit of streams the server has",
        arguments: ForeignServer.present,
        [1, 100, 1000]
    )
    func many(server: ForeignServer, streams: Int) async throws {
        try await server.run(streams: streams) { endpoint, caFile async throws in
            var configuration = APNSClientConfiguration.quick
            configuration.maximumConnections = 1
            configuration.maximumReconnectDelay = .milliseconds(100)
            let client = try APNSClient(
                endpoints: .all(at: endpoint),
                caFile: caFile,
                configuration: configuration,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            // One stream is one round trip for each push.
            let count = streams == 1 ? Self.pushes / 20 : Self.pushes
            let batch = try ClientWorld.batch(count, deadline: .seconds(200))
            let outcome = await client.send(batch)
            await client.shutDown()
            #expect(outcome.accepted == count, "\(outcome.exceptions.prefix(3))")
        }
    }
}

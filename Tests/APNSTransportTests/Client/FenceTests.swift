import APNSTransport
import ActivityModel
import HTTP2Engine
import HTTP2TestSupport
import Testing

/// A daemon that has lost its work must not send what still waits in the transport.
@Suite("A departure fence", .timeLimit(.minutes(1)), .bothSessions)
struct FenceTests {
    private let start = ContinuousClock.now

    @Test("is open until its end, which only grows")
    func extending() {
        let fence = DepartureFence(until: start + .seconds(3))
        #expect(fence.isOpen(at: start))
        #expect(!fence.isOpen(at: start + .seconds(3)))
        fence.extend(until: start + .seconds(4))
        #expect(fence.isOpen(at: start + .seconds(3)))
        fence.extend(until: start + .seconds(2))
        #expect(fence.isOpen(at: start + .seconds(3)))
    }

    @Test("stays closed after it was closed, whatever a late renewal says")
    func closed() {
        let fence = DepartureFence(until: start + .seconds(3))
        fence.close()
        #expect(!fence.isOpen(at: start))
        fence.extend(until: start + .seconds(9))
        #expect(!fence.isOpen(at: start))
    }

    @Test("keeps back what waits when it closes, and what has left gets its answer")
    func closing() async throws {
        let fence = DepartureFence(until: start + .seconds(600))
        // Nothing else leaves before the first answer, so the other pushes meet a closed fence.
        let script: @Sendable (ScriptedServer.Received) -> ScriptedServer.Reply = { _ in
            fence.close()
            return .ok
        }
        try await ClientWorld.run(script: script) { world async throws in
            var batch = try ClientWorld.batch(100)
            batch.fence = fence
            let outcome = await world.client.send(batch)
            #expect(outcome.accepted == 1)
            #expect(outcome.exceptions.count == 99)
            #expect(outcome.exceptions.allSatisfy { $0.outcome.class == .notSent })
            #expect(outcome.exceptions.first?.outcome.detail == "the daemon no longer owns the work")
            #expect(world.server.received.count == 1)
            // Work of others goes on.
            #expect(try await world.send(10).accepted == 10)
        }
    }

    @Test("that is over lets nothing leave, not even one broadcast")
    func over() async throws {
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            var push = BroadcastPush(
                environment: .sandbox,
                identity: try testIdentity(),
                bundleID: try ClientWorld.bundleID(),
                channelID: try #require(APNSChannelID("dHN0LXNyY2gtY2hubA==")),
                storage: .none,
                priority: .five,
                expiration: 0,
                body: Array(#"{"aps":{}}"#.utf8)
            )
            push.fence = DepartureFence(until: start)
            #expect(await world.client.broadcast(push).class == .notSent)
            #expect(world.server.received.isEmpty)
            push.fence?.extend(until: start + .seconds(600))
            #expect(await world.client.broadcast(push).isAccepted)
        }
    }
}

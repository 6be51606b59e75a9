import APITypes
import APNSTransport
import ActivityModel
import Cryptography
import DeliveryStore
import JSON
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Channels
@testable import Intake
@testable import Orchestrator
@testable import Store

extension World {
    fileprivate func want(_ channels: Int) async throws {
        try await database.execute("UPDATE apps SET channel_pool = \(Int32(channels))")
    }

    fileprivate func sweep() async throws {
        try await ChannelSweeper(room: orchestrator.channelRoom).sweepDue()
    }

    fileprivate func unused(_ storage: ChannelStorage = .mostRecent) async throws -> Int64? {
        try await number(
            """
            SELECT count(*) FROM channels
            WHERE state = 'ready' AND activity_key IS NULL AND storage = \(storage.rawValue)::channel_storage
            """
        )
    }
}

@Suite("Channel pools", .timeLimit(.minutes(2)))
struct ChannelPoolTests {
    @Test("A pool is filled ahead, a start takes from it without waiting for Apple, and it is filled up again")
    func filling() async throws {
        try await withWorld { world in
            try await world.want(3)
            try await world.sweep()
            #expect(try await world.unused() == 3)
            try await world.sweep()
            #expect(world.recorder.createdChannels == 3)
            let (answer, _) = try await world.start(delivery: .channel)
            #expect(answer.channel?.state == .ready)
            #expect(answer.channel?.apnsChannelID?.rawValue == "channel1")
            #expect(try await world.unused() == 2)
            try await world.sweep()
            #expect(try await world.unused() == 3)
            // A pool that is to be smaller is used up, not emptied.
            try await world.want(0)
            try await world.sweep()
            #expect(try await world.unused() == 3)
            #expect(world.recorder.deletedChannels.isEmpty)
        }
    }

    @Test("Starts of one group take different channels of the pool; only one that finds none gives work")
    func group() async throws {
        try await withWorld { world in
            try await world.want(2)
            try await world.sweep()
            let request = StartRequest(
                type: World.game,
                attributes: JSONObject([("home", .string("Argentina"))]),
                contentState: World.state(0),
                delivery: .channel
            )
            let starts = (1...3).map { number in
                RequestedStart(
                    app: world.app,
                    id: ActivityID(stored: "a\(number)"),
                    request: request,
                    idempotencyKey: nil,
                    origin: nil
                )
            }
            let answers = await world.orchestrator.intake.accept(starts)
            let channels = try answers.map { try #require(try $0.get().answer.channel) }
            #expect(Set(channels.map(\.id)).count == 3)
            #expect(channels.count(where: { $0.state == .ready }) == 2)
            #expect(try await world.unused() == 0)
            #expect(try await world.orchestrator.deliveryStore.segments.claim(limit: 10).count == 1)
        }
    }

    @Test("A channel that Apple makes while the daemon stops is stored all the same")
    func shutdown() async throws {
        try await withWorld { world in
            try await world.want(1)
            // With this the comparison with Apple's list is done for an hour.
            try await world.sweep()
            try await world.want(2)
            let gate = world.recorder.close()
            let sweep = Task { try await world.sweep() }
            await gate.arrivals()
            sweep.cancel()
            world.recorder.open()
            _ = try? await sweep.value  // what a cancelled task throws is not asked here
            #expect(world.recorder.createdChannels == 2)
            #expect(try await world.unused() == 2)
        }
    }

    @Test("So is one that is made by hand")
    func shutdownByHand() async throws {
        try await withWorld { world in
            let gate = world.recorder.close()
            let making = Task { try await world.orchestrator.createChannel(world.app, ChannelRequest()) }
            await gate.arrivals()
            making.cancel()
            world.recorder.open()
            _ = try? await making.value  // what a cancelled task throws is not asked here
            #expect(world.recorder.channels == ["channel1"])
            let unused = try await world.unused()
            #expect(unused == 1)
        }
    }

    @Test(
        "A pool holds what the app's activities want by default: channels that store, unless no type wants that",
        arguments: [ChannelStorage.mostRecent, .none]
    )
    func storage(storage: ChannelStorage) async throws {
        try await withWorld(policy: { $0.channelStorage = storage }) { world in
            try await world.want(1)
            try await world.sweep()
            #expect(try await world.unused(storage) == 1)
            _ = try await world.start(delivery: .channel)
            #expect(try await world.show().channel?.state == .ready)
        }
    }

    @Test("Each environment has a pool of its own")
    func environments() async throws {
        try await withWorld { world in
            var request = AppRequest.production(key: nil)
            request.environments[.sandbox] = SigningKeyRequest(
                keyID: KeyID(stored: "KEY7654321"),
                privateKey: try P256PrivateKey.generate().pem()
            )
            request.channelPool = 1
            _ = try await world.orchestrator.putApp(world.app, request)
            try await world.sweep()
            let made = try await world.word(
                "SELECT string_agg(environment::text, ',' ORDER BY environment) FROM channels"
            )
            #expect(made == "sandbox,production")
        }
    }

    @Test("A pool that cannot be filled now is tried again later, longer after each failure")
    func backOff() async throws {
        try await withWorld { world in
            try await world.want(2)
            world.recorder.answerCreation(with: .failed(.unavailable))
            try await world.sweep()
            #expect(try await world.unused() == 0)
            try await world.sweep()
            #expect(try await world.unused() == 0)
            try await world.pass(11)
            world.recorder.answerCreation(with: .failed(.unavailable))
            try await world.sweep()
            try await world.pass(11)
            try await world.sweep()
            #expect(try await world.unused() == 0)
            try await world.pass(11)
            try await world.sweep()
            #expect(try await world.unused() == 2)
        }
    }

    @Test("Two daemons that look at the same moment make no channel too many")
    func twoDaemons() async throws {
        try await withWorld { world in
            try await world.want(5)
            async let one: Void = world.sweep()
            async let two: Void = world.sibling().sweep()
            _ = try await (one, two)
            #expect(world.recorder.createdChannels == 5)
        }
    }
}

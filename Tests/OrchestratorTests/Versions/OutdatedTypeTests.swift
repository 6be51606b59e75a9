import APITypes
import ActivityModel
import DeliveryStore
import JSON
import OrchestratorTestSupport
import Postgres
import Registry
import Synchronization
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator

/// A type is believed for a second: another daemon may have registered a version of it meanwhile.
@Suite("A daemon that has not heard of a version yet", .timeLimit(.minutes(2)))
struct OutdatedTypeTests {
    /// Lends a daemon that has just looked at the type, which has got another version by another daemon since.
    private func withVersion(
        after prepare: (World) async throws -> Void,
        _ body: (_ outdated: World, _ other: World) async throws -> Void
    ) async throws {
        try await withWorld { world in
            let other = world.sibling()
            try await prepare(world)
            _ = try await world.orchestrator.typeContext(world.app, World.game)
            try await other.registerVersion(force: true)
            try await body(world, other)
        }
    }

    @Test("A change is judged by the new version as well")
    func change() async throws {
        try await withVersion { world in
            try await world.install("2.1", on: "new")
            try await world.start { $0.contentState["clock"] = "0" }
            try await world.follow("new", token: "aa01")
        } _: { world, _ in
            let refusing = try await refusingVersions { try await world.updateOld(score: 1) }
            #expect(refusing == [2])
        }
    }

    @Test("Who registers is judged by the new version")
    func registration() async throws {
        try await withVersion { world in
            try await world.install("2.1", on: "new")
            try await world.start()
        } _: { world, _ in
            let answer = try await world.follow("new", token: "aa01")
            #expect(answer.state == .withheld)
        }
    }

    @Test("Of reports that are taken together only those are judged anew whose type was changed; the others are taken")
    func group() async throws {
        try await withWorld { world in
            let order = ActivityTypeName(stored: "Order")
            let schemas = TypeRequest.Source.schemas(
                attributes: try json(World.attributesSchema),
                contentState: try json(World.clockState)
            )
            _ = try await world.orchestrator.putType(world.app, order, TypeRequest(source: schemas), force: false)
            try await world.start()
            try await world.start("order") { request in
                request.type = order
                request.contentState["clock"] = "0"
            }
            // At every step of its transactions, and so when it has looked at the type, another daemon registers a
            // version of `Game`.
            let versions = Mutex(1)
            let outdated = world.sibling(
                behind: StatementGate { (moment) async throws(PostgresError) in
                    guard moment == .inTransaction else { return }
                    let number = versions.withLock { number in
                        number += 1
                        return number
                    }
                    let state = #"{"type":"object","properties":{"n\#(number)":{}}}"#
                    await #expect(throws: Never.self) {
                        try await world.registerVersion(state, from: "\(number).0", force: true)
                    }
                }
            )
            let token = try #require(PushToken(hex: "aa01"))
            let cards = [("d1", "final"), ("d2", "order"), ("d3", "final")].map { device, activity in
                ReportedCard(
                    app: world.app,
                    activity: ActivityID(stored: activity),
                    device: DeviceID(stored: device),
                    request: SubscriptionRequest(.updateToken(token), environment: .production)
                )
            }
            let facts = try await world.orchestrator.intake.facts(of: cards.map(\.name)).map { try $0.get() }
            let reports = zip(cards, facts).map { card, facts in
                CardReport(card: card, facts: facts, registry: outdated.orchestrator.registry)
            }
            let answers = try await ReportGroup.accept(
                reports,
                in: outdated.database,
                waking: outdated.orchestrator.deliveryStore.wakeUps,
                isPatient: true
            )
            for place in [0, 2] { #expect(throws: OutdatedType.self) { try answers[place].get() } }
            #expect(try answers[1].get().state == .due)
            // Of the others nothing is stored, not even the device.
            #expect(try await world.tables.cards().map(\.device) == ["d2"])
            #expect(try await world.number("SELECT count(*) FROM devices") == 1)
        }
    }

    @Test("A start must be decodable by the new version")
    func start() async throws {
        try await withVersion { world in
            try await world.install("2.1", on: "new")
        } _: { world, _ in
            let refusing = try await refusingVersions { try await world.start(to: World.devices("new")) }
            #expect(refusing == [2])
        }
    }

    @Test("Nobody is started with what its version does not decode")
    func claim() async throws {
        try await withVersion { world in
            try await world.start(to: World.devices("new"))
            try await world.settle()
        } _: { world, other in
            try await other.withIntake { try await other.install("2.1", on: "new", token: "a1") }
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.startState("new") == "withheld")
        }
    }
}

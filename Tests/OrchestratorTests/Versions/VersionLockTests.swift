import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

/// Two transactions that would not see each other, the first halted when all of it is done but its commit.
@Suite("Who decides by what another is about to commit waits for it", .timeLimit(.minutes(2)))
struct VersionLockTests {
    /// Halts `first` before its commit, begins `second`, and lets the first go on when the second waits for it, or when
    /// `isOver` says that it did not have to.
    private func interleave(
        in world: World,
        _ first: @escaping @Sendable (World) async throws -> Void,
        _ second: @escaping @Sendable (World) async throws -> Void,
        isOver: Query
    ) async throws {
        let meanwhile = Gate()
        let gate = StatementGate { (moment) async throws(PostgresError) in
            if moment == .beforeCommit { await meanwhile.pass() }
        }
        let other = world.sibling(behind: gate)
        try await other.withIntake {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await first(other) }
                await meanwhile.arrivals(1)
                group.addTask { try await second(world) }
                try await world.someoneWaits(unless: { try await world.number(isOver) != 0 })
                // What is committed by now is done with.
                try await world.settle()
                meanwhile.open()
                try await group.waitForAll()
            }
        }
        try await world.settle()
    }

    /// How a phone comes to have a card and an app that decodes the first version alone.
    enum Coming: Sendable, CaseIterable {
        case firstOfItsVersion, another, withAnotherApp, withAnotherAppAndTwoCards

        var hasCard: Bool { self == .withAnotherApp || self == .withAnotherAppAndTwoCards }
    }

    @Test("a change and a phone that comes", arguments: Coming.allCases)
    func change(coming: Coming) async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.start()
            try await world.updateBoth(score: 1)
            try await world.install("1.4", on: "gone")
            if coming != .firstOfItsVersion {
                try await world.follow("gone", token: "aa00")
                try await world.report("gone", .ended)
            }
            try await world.install(coming.hasCard ? "2.1" : "1.4", on: "old")
            if coming.hasCard { try await world.follow("old", token: "aa01") }
            if coming == .withAnotherAppAndTwoCards {
                try await world.start("semi") { $0.contentState["clock"] = "0" }
                try await world.follow("gone", token: "bb00", in: "semi")
                try await world.follow("old", token: "bb01", in: "semi")
            }
            try await world.settle()
            _ = world.recorder.take()
            try await interleave(
                in: world,
                { other in
                    if coming.hasCard {
                        try await other.install("1.4", on: "old")
                    } else {
                        try await other.follow("old", token: "aa01")
                    }
                },
                { world in _ = try await refusingVersions { try await world.updateNew(2) } },
                isOver: "SELECT count(*) FROM changes WHERE revision = 3"
            )
            // Refused, or withheld from it.
            let newest = try await world.show().contentState["note"] != nil
            let card = try await world.tables.cards().first { $0.token == "aa01" }?.state
            #expect(card == (newest ? "withheld" : "riding"))
            #expect(world.recorder.pushes(to: "aa01").allSatisfy { $0.score == 1 })
        }
    }

    @Test("a version and a change")
    func version() async throws {
        try await withWorld { world in
            try await world.install("2.1", on: "new")
            try await world.start { $0.contentState["clock"] = "0" }
            try await world.follow("new", token: "aa01")
            try await world.settle()
            _ = world.recorder.take()
            try await interleave(
                in: world,
                { other in try await other.updateOld(score: 2) },
                { world in try await world.registerVersion(force: true) },
                isOver: "SELECT count(*) FROM type_versions WHERE version = 2"
            )
            #expect(try await world.subscription("new") == "withheld")
            #expect(world.recorder.take().isEmpty)
        }
    }
}

import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Orchestrator
@testable import Registry

/// Postgres keeps such a text in a column of type `json`, and refuses to look into the whole document afterwards.
@Suite("Texts with U+0000 that were kept before they were refused")
struct StoredNULTests {
    /// As a daemon that took such texts would have left it.
    private func poison(_ world: World) async throws {
        _ = try await world.database.execute(
            """
            UPDATE activities SET start_body = replace(start_body::text, 'Argentina', '\\\\u0000\\u0000')::json
            """
        )
        _ = try await world.database.execute(
            """
            UPDATE activity_types
            SET policy = '{"fallback_alert": true, "start_alert": {"title": "\\u0000", "body": "Kick-off"}}'
            """
        )
    }

    @Test("A user is erased, from the start that has one, too")
    func erasure() async throws {
        try await withWorld { world in
            try await world.register("d1", user: "u1")
            try await world.start(to: Audience(users: [UserID(stored: "u1")], devices: [DeviceID(stored: "d1")]))
            try await poison(world)
            try await world.orchestrator.eraseUser(world.app, UserID(stored: "u1"))
            let bodies = try await world.word("SELECT string_agg(start_body::text, ' ') FROM activities")
            #expect(bodies?.contains("u1") == false && bodies?.contains("d1") == false)
            #expect(
                try await problem { _ = try await world.orchestrator.device(world.app, DeviceID(stored: "d1")) } != nil
            )
        }
    }

    @Test("A phone that was offline until after the end reports its card by a ticket")
    func ticket() async throws {
        try await withWorld { world in
            try await world.start(to: Audience(users: [UserID(stored: "u1")]))
            try await world.end()
            try await world.settle()
            try await poison(world)
            func report(of user: String) async throws {
                let ticket = TicketGrant(
                    app: world.app,
                    environment: .production,
                    device: DeviceID(stored: "d1"),
                    user: UserID(stored: user),
                    expiresAt: 4_000_000_000
                )
                let request = try ticket.admit(SubscriptionRequest(.updateToken(try #require(PushToken(hex: "aa01")))))
                let final = ActivityID(stored: "final")
                _ = try await world.orchestrator.intake.subscribe(world.app, final, ticket.device, request, by: ticket)
            }
            #expect(try await problem { try await report(of: "u2") }?.code == "ticket_forbidden")
            try await report(of: "u1")
        }
    }

    @Test("A device that registers later is enrolled, also one that is shown an alert in the stead of a card")
    func enrolment() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1", "d2"))
            try await world.settle()
            try await poison(world)
            try await world.register("d1", token: "aa01")
            try await world.register("d2", deviceToken: "aa02")
            #expect(try await world.startState("d1") == "pending")
            #expect(try await world.startState("d2") == "pending")
            try await world.start("later", to: World.devices("d1", "d2"))
            try await world.settle()
            #expect(try await world.tables.starts().count == 4)
        }
    }

    @Test("What is over is deleted")
    func retention() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.end()
            try await world.settle()
            try await poison(world)
            try await world.pass(31 * 86_400)
            _ = try await RetentionDuty(orchestrator: world.orchestrator).deleteDue()
            #expect(try await world.number("SELECT count(*) FROM activities") == 0)
        }
    }
}

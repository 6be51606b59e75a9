import ActivityKit
import Foundation
import Testing

@testable import TallyKit

/// The part of TallyKit that an app calls.
@MainActor
@Suite("What an app calls")
struct TallyTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "TallyKitTests-\(UUID().uuidString)")

    private func tally() throws -> Tally {
        struct NoTicket: Error {}
        return Tally(
            server: try #require(URL(string: "https://tally.example.com:8443")),
            app: "com.example.matchday",
            environment: "sandbox",
            folder: folder,
            ticket: { _ in throw NoTicket() }
        )
    }

    private var memory: Memory? { get throws { try MemoryFile(folder: folder).load() } }

    @Test("a card that the app starts is known with its revision, and a second start finds the same card")
    func starts() async throws {
        struct Started: TestAttributes { var order = "order-1" }
        let tally = try tally()
        Stage<Started>.this.nextID = "card-1"
        let card = try await tally.start(Started(), TestState(), revision: 4)
        #expect(card.id == "card-1")
        #expect(try memory?.cards["card-1"]?.start == AppStart(revision: 4))
        Stage<Started>.this.nextID = "card-2"
        #expect(try await tally.start(Started(), TestState(), revision: 5).id == "card-1")
    }

    @Test("a card that iOS refuses leaves no trace")
    func refused() async throws {
        struct Refused: TestAttributes { var order = "order-1" }
        let tally = try tally()
        await #expect(throws: ActivityAuthorizationError.self) {
            _ = try await tally.start(Refused(), TestState(), revision: 1)
        }
        #expect(try memory?.starting.isEmpty == true)
    }

    @Test("a card that the app ends leaves the screen, and the app hears that it ended it itself")
    func ends() async throws {
        struct Finished: TestAttributes { var order = "order-1" }
        let tally = try tally()
        Stage<Finished>.this.nextID = "card-1"
        let card = try await tally.start(Finished(), TestState(), revision: 1)
        while card.card.states.listenerCount == 0 { await Task.yield() }
        await tally.end("order-1")
        for await ending in tally.endings {
            #expect(ending == CardEnding(activity: "order-1", card: "card-1", cause: .app))
            break
        }
        #expect(Stage<Finished>.this.cards.isEmpty)
    }

    @Test("a sign-out is stored before it is reported, and ends all cards")
    func signsOut() async throws {
        struct Left: TestAttributes { var order = "order-1" }
        let tally = try tally()
        await tally.signIn("fan-7")
        Stage<Left>.this.nextID = "card-1"
        _ = try await tally.start(Left(), TestState(), revision: 1)
        await tally.signOut()
        #expect(try memory?.signedOut == true)
        #expect(try memory?.cards["card-1"]?.ending == .app)
        #expect(!tally.status.userConfirmed)
    }
}

import ActivityKit
import Foundation
import Testing

@testable import TallyKit

/// How TallyKit reads ActivityKit, of which a stand-in shows what a test says.
@MainActor
@Suite("The cards of a type")
struct FollowedTypeTests {
    /// What a followed type has told.
    @MainActor
    private final class Ear {
        private(set) var events: [PhoneEvent] = []
        private let (stream, newEvent) = AsyncStream<PhoneEvent>.makeStream()

        func take(_ event: PhoneEvent) {
            events.append(event)
            newEvent.yield(event)
        }

        /// The next card that is told, of those that meet a condition.
        func card(where isMeant: (SeenCard) -> Bool = { _ in true }) async throws -> SeenCard {
            for await event in stream {
                if case .card(let card) = event, isMeant(card) { return card }
            }
            throw CancellationError()
        }

        /// The next revision that the stream of content tells.
        func revision() async throws -> Int {
            for await event in stream {
                if case .content(_, let revision) = event { return revision }
            }
            throw CancellationError()
        }
    }

    @Test("what is there is told at once: the start token and the cards")
    func atOnce() {
        struct There: TestAttributes { var order = "order-1" }
        let stage = Stage<There>.this
        stage.startToken = Data([0x0A, 0xFF])
        stage.cards = [Activity(id: "card-1", attributes: There(), content: TestState())]
        let ear = Ear()
        let followed = Followed<There> { ear.take($0) }
        followed.listen()
        guard case .startToken("There", "0aff") = ear.events.first else { return #expect(Bool(false)) }
        guard case .card(let card) = ear.events.last else { return #expect(Bool(false)) }
        #expect(card == SeenCard(id: "card-1", activity: "order-1", type: "There"))
        var reading = Reading()
        followed.read(into: &reading)
        #expect(reading.types == ["There"] && reading.startTokens == ["There": "0aff"] && reading.cards == [card])
    }

    @Test("a card is listened to once, and its property wins over a late stream of tokens")
    func property() async throws {
        struct Late: TestAttributes { var order = "order-1" }
        let card = Activity(id: "card-1", attributes: Late(), content: TestState())
        let ear = Ear()
        let followed = Followed<Late> { ear.take($0) }
        followed.watch(card)
        followed.watch(card)
        #expect(ear.events.count == 1)
        card.card.token = Data([2])
        // The tasks that listen have to begin.
        while card.card.tokens.listenerCount == 0 { await Task.yield() }
        card.card.tokens.tell(Data([1]))
        #expect(try await ear.card { $0.updateToken != nil }.updateToken == "02")
    }

    @Test("the stream of states is trusted if it began while the card was live", arguments: [true, false])
    func states(isLive: Bool) async throws {
        struct Over: TestAttributes { var order = "order-1" }
        let card = Activity(id: "card-1", attributes: Over(), content: TestState())
        if !isLive { card.card.turn(.dismissed) }
        let ear = Ear()
        Followed<Over> { ear.take($0) }.watch(card)
        _ = try await ear.card()
        while card.card.states.listenerCount == 0 { await Task.yield() }
        card.card.turn(.dismissed)
        let news = try await ear.card()
        #expect(news.state == .dismissed && news.isFromStates == isLive)
    }

    @Test("content with a revision is told as the property has it, and with each change")
    func content() async throws {
        let card = Activity(id: "card-1", attributes: Counted(), content: CountedState(number: 3))
        let ear = Ear()
        let followed = Followed<Counted> { ear.take($0) }
        followed.watch(card)
        #expect(try await ear.card().revision == 3)
        while card.contents.listenerCount == 0 { await Task.yield() }
        card.show(CountedState(number: nil))
        card.show(CountedState(number: 4))
        #expect(try await ear.revision() == 4)
        Stage<Counted>.this.cards = [card]
        var reading = Reading()
        followed.read(into: &reading)
        #expect(reading.cards.map(\.revision) == [4])
    }

    @Test("a card that TallyKit ends leaves the screen")
    func ends() async {
        struct Ended: TestAttributes { var order = "order-1" }
        let stage = Stage<Ended>.this
        stage.cards = ["card-1", "card-2"].map { Activity(id: $0, attributes: Ended(), content: TestState()) }
        let followed = Followed<Ended> { _ in }
        followed.endCard("card-2")
        while stage.cards.count == 2 { await Task.yield() }
        #expect(stage.cards.map(\.id) == ["card-1"])
    }
}

/// Attributes of a test; each has its own type, since ActivityKit keeps the cards by type.
protocol TestAttributes: TallyAttributes where ContentState == TestState {
    var order: String { get }
}

extension TestAttributes {
    var tallyID: String { order }
}

struct TestState: Codable, Hashable, Sendable {}

/// A card whose content says its revision.
struct Counted: TallyAttributes {
    typealias ContentState = CountedState

    var tallyID: String { "order-1" }
}

struct CountedState: Codable, Hashable, Sendable, TallyContent {
    var number: Int?

    var tallyRevision: Int? { number }
}

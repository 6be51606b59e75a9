#if canImport(ActivityKit)
import ActivityKit
import Foundation

/// What TallyKit does with the cards of one type.
@MainActor
protocol FollowedType {
    /// What the properties say: the start token and the cards.
    func read(into reading: inout Reading)
    /// Ends a card and takes it off the screen.
    func endCard(_ id: String)
}

/// The cards of one type of attributes.
@MainActor
final class Followed<Attributes: TallyAttributes>: FollowedType {
    private let take: @MainActor (PhoneEvent) -> Void
    private var watched: Set<String> = []

    init(take: @escaping @MainActor (PhoneEvent) -> Void) {
        self.take = take
    }

    /// Listens to all streams of the type, for as long as the app runs.
    func listen() {
        if #available(iOS 17.2, *) {
            Task {
                for await token in Activity<Attributes>.pushToStartTokenUpdates {
                    take(.startToken(type: Attributes.tallyType, token: token.hexText))
                }
            }
        }
        Task {
            for await card in Activity<Attributes>.activityUpdates { watch(card) }
        }
        var reading = Reading()
        read(into: &reading)
        for (type, token) in reading.startTokens { take(.startToken(type: type, token: token)) }
        for card in Activity<Attributes>.activities { watch(card) }
    }

    /// A card may be told by the property and by the stream.
    func watch(_ card: Activity<Attributes>) {
        guard watched.insert(card.id).inserted else { return }
        let first = Self.readProperties(card)
        take(.card(first))
        Task {
            for await token in card.pushTokenUpdates { take(.card(Self.seen(card, token: token))) }
        }
        Task {
            for await state in card.activityStateUpdates {
                var news = Self.seen(card, state: state)
                // Of a card that was over before, the stream tells the last state alone.
                news.isFromStates = !first.state.isOver
                take(.card(news))
            }
        }
        guard Attributes.ContentState.self is any TallyContent.Type else { return }
        Task {
            for await content in card.contentUpdates {
                guard let revision = Self.revision(content.state) else { continue }
                take(.content(card: card.id, revision: revision))
            }
        }
    }

    func read(into reading: inout Reading) {
        reading.types.insert(Attributes.tallyType)
        if #available(iOS 17.2, *), let token = Activity<Attributes>.pushToStartToken {
            reading.startTokens[Attributes.tallyType] = token.hexText
        }
        for card in Activity<Attributes>.activities { reading.cards.append(Self.readProperties(card)) }
    }

    func endCard(_ id: String) {
        guard let card = Activity<Attributes>.activities.first(where: { $0.id == id }) else { return }
        Task { await card.end(nil, dismissalPolicy: .immediate) }
    }

    private static func readProperties(_ card: Activity<Attributes>) -> SeenCard {
        var properties = Self.seen(card)
        // Not with the news of other streams: the stream of content tells, too, when it changed.
        properties.revision = Self.revision(card.content.state)
        return properties
    }

    private static func revision(_ content: Attributes.ContentState) -> Int? {
        (content as? any TallyContent)?.tallyRevision
    }

    /// The property of the token wins: a stream may be late.
    private static func seen(
        _ card: Activity<Attributes>,
        token: Data? = nil,
        state: ActivityState? = nil
    ) -> SeenCard {
        SeenCard(
            id: card.id,
            activity: card.attributes.tallyID,
            type: Attributes.tallyType,
            state: CardState(state ?? card.activityState),
            updateToken: (card.pushToken ?? token)?.hexText,
            isFromStates: state != nil
        )
    }
}

extension CardState {
    /// A state that a later iOS brings counts as active: the card may still take updates.
    fileprivate init(_ state: ActivityState) {
        if #available(iOS 26, *), state == .pending {
            self = .pending
        } else {
            switch state {
            case .ended: self = .ended
            case .dismissed: self = .dismissed
            case .stale: self = .stale
            default: self = .active
            }
        }
    }
}
#endif

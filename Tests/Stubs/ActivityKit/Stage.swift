import Synchronization

/// What a test lets ActivityKit say of one type of attributes. It stands in no app.
package final class Stage<Attributes: ActivityAttributes & Sendable>: Sendable where Attributes.ContentState: Sendable {
    private struct State: Sendable {
        var cards: [Activity<Attributes>] = []
        var startToken: Data?
        var nextID: String?
    }

    private let state = Mutex(State())
    package let appearances = Broadcast<Activity<Attributes>>()
    package let startTokens = Broadcast<Data>()

    fileprivate init() {}

    package static var this: Stage<Attributes> {
        stages.withLock { stages in
            let key = ObjectIdentifier(Attributes.self)
            if let stage = stages[key] as? Stage<Attributes> { return stage }
            let stage = Stage<Attributes>()
            stages[key] = stage
            return stage
        }
    }

    package var cards: [Activity<Attributes>] {
        get { state.withLock { $0.cards } }
        set { state.withLock { $0.cards = newValue } }
    }
    package var startToken: Data? {
        get { state.withLock { $0.startToken } }
        set { state.withLock { $0.startToken = newValue } }
    }
    /// The id of the card that the app requests next; nil: it may request none.
    package var nextID: String? {
        get { state.withLock { $0.nextID } }
        set { state.withLock { $0.nextID = newValue } }
    }
}

/// By type of attributes.
private let stages = Mutex<[ObjectIdentifier: any Sendable]>([:])

/// What changes of one card.
package final class Card: Sendable {
    private struct State: Sendable {
        var state = ActivityState.active
        var token: Data?
    }

    private let shown = Mutex(State())
    package let states = Broadcast<ActivityState>()
    package let tokens = Broadcast<Data>()

    package var state: ActivityState { shown.withLock { $0.state } }
    package var token: Data? {
        get { shown.withLock { $0.token } }
        set { shown.withLock { $0.token = newValue } }
    }

    package func turn(_ state: ActivityState) {
        shown.withLock { $0.state = state }
        states.tell(state)
    }
}

/// Tells everything to all who listen.
package final class Broadcast<Element: Sendable>: Sendable {
    private let listeners = Mutex<[AsyncStream<Element>.Continuation]>([])

    package func tell(_ element: Element) {
        for listener in listeners.withLock({ $0 }) { listener.yield(element) }
    }

    package var listenerCount: Int { listeners.withLock { $0.count } }

    func stream() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream()
        listeners.withLock { $0.append(continuation) }
        return stream
    }
}

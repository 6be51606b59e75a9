// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents them.

// What TallyKit and the sample app use of Apple's ActivityKit, by its names and types (Apple, ActivityKit, "Activity"), so
// that they are compiled where there is no iOS. It shows what a test puts on the `Stage`; without a test, nothing.

@_exported public import Foundation
// On Apple's systems Foundation has URLSession itself.
@_exported public import FoundationNetworking
import Synchronization

public protocol ActivityAttributes: Codable {
    associatedtype ContentState: Codable, Hashable
}

public enum ActivityState: Sendable {
    case active, pending, ended, dismissed, stale
}

public struct ActivityAuthorizationInfo: Sendable {
    public var areActivitiesEnabled: Bool { false }
    public var frequentPushesEnabled: Bool { false }
    public var activityEnablementUpdates: AsyncStream<Bool> { AsyncStream { $0.finish() } }
    public var frequentPushEnablementUpdates: AsyncStream<Bool> { AsyncStream { $0.finish() } }

    public init() {}
}

public struct ActivityContent<State: Codable & Hashable & Sendable>: Sendable {
    public var state: State
    public var staleDate: Date?

    public init(state: State, staleDate: Date?, relevanceScore: Double = 0) {
        self.state = state
        self.staleDate = staleDate
    }
}

public struct PushType: Sendable {
    public static var token: PushType { PushType() }
    public static func channel(_ channelId: String) -> PushType { PushType() }
}

public struct ActivityUIDismissalPolicy: Sendable {
    public static let `default` = ActivityUIDismissalPolicy()
    public static let immediate = ActivityUIDismissalPolicy()
}

public struct ActivityAuthorizationError: Error {}

public final class Activity<Attributes: ActivityAttributes & Sendable>: Identifiable, Sendable
where Attributes.ContentState: Sendable {
    public let id: String
    public let attributes: Attributes
    package let card = Card()
    private let shown: Mutex<ActivityContent<Attributes.ContentState>>
    package let contents = Broadcast<ActivityContent<Attributes.ContentState>>()

    public static var activities: [Activity<Attributes>] { Stage<Attributes>.this.cards }
    public static var activityUpdates: AsyncStream<Activity<Attributes>> { Stage<Attributes>.this.appearances.stream() }
    public static var pushToStartToken: Data? { Stage<Attributes>.this.startToken }
    public static var pushToStartTokenUpdates: AsyncStream<Data> { Stage<Attributes>.this.startTokens.stream() }

    public var activityState: ActivityState { card.state }
    public var activityStateUpdates: AsyncStream<ActivityState> { card.states.stream() }
    public var pushToken: Data? { card.token }
    public var pushTokenUpdates: AsyncStream<Data> { card.tokens.stream() }
    public var content: ActivityContent<Attributes.ContentState> { shown.withLock { $0 } }
    public var contentUpdates: AsyncStream<ActivityContent<Attributes.ContentState>> { contents.stream() }

    package init(id: String, attributes: Attributes, content: Attributes.ContentState) {
        self.id = id
        self.attributes = attributes
        shown = Mutex(ActivityContent(state: content, staleDate: nil))
    }

    /// A push changes the content.
    package func show(_ state: Attributes.ContentState) {
        let content = ActivityContent(state: state, staleDate: nil)
        shown.withLock { $0 = content }
        contents.tell(content)
    }

    public static func request(
        attributes: Attributes,
        content: ActivityContent<Attributes.ContentState>,
        pushType: PushType?
    ) throws -> Activity<Attributes> {
        guard let id = Stage<Attributes>.this.nextID else { throw ActivityAuthorizationError() }
        let activity = Activity(id: id, attributes: attributes, content: content.state)
        Stage<Attributes>.this.cards.append(activity)
        return activity
    }

    public func end(
        _ content: ActivityContent<Attributes.ContentState>?,
        dismissalPolicy: ActivityUIDismissalPolicy
    ) async {
        Stage<Attributes>.this.cards.removeAll { $0.id == id }
        card.turn(.dismissed)
    }
}

// What the sample of docs/guides/ios.md uses of Apple's ActivityKit, by its names and types (Apple, ActivityKit,
// "Activity"), so that the sample is compiled where there is no iOS. Nothing of it does anything.

@_exported import Foundation
// On Apple's systems Foundation has URLSession itself.
@_exported import FoundationNetworking

package protocol ActivityAttributes: Codable {
    associatedtype ContentState: Codable, Hashable, Sendable
}

package enum ActivityState: Sendable {
    case active, pending, ended, dismissed, stale
}

package struct ActivityAuthorizationInfo: Sendable {
    package var areActivitiesEnabled: Bool { false }
    package var frequentPushesEnabled: Bool { false }

    package init() {}
}

package final class Activity<Attributes: ActivityAttributes & Sendable>: Identifiable, Sendable {
    package let id: String
    package let attributes: Attributes

    package static var activities: [Activity<Attributes>] { [] }
    package static var activityUpdates: AsyncStream<Activity<Attributes>> { AsyncStream { $0.finish() } }
    package static var pushToStartToken: Data? { nil }
    package static var pushToStartTokenUpdates: AsyncStream<Data> { AsyncStream { $0.finish() } }

    package var activityState: ActivityState { .active }
    package var activityStateUpdates: AsyncStream<ActivityState> { AsyncStream { $0.finish() } }
    package var pushToken: Data? { nil }
    package var pushTokenUpdates: AsyncStream<Data> { AsyncStream { $0.finish() } }

    init(id: String, attributes: Attributes) {
        self.id = id
        self.attributes = attributes
    }
}

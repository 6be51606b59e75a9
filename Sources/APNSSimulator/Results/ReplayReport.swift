package import ActivityModel

/// How well phones follow the posts. The quickstart prints it.
package struct ReplayReport: Sendable, Hashable {
    /// Received pushes of one event at one priority.
    package struct PushCount: Sendable, Hashable {
        package var event: String
        package var priority: Int
        package var count: Int
    }

    /// How often phones ignored pushes for one reason.
    package struct IgnoredCount: Sendable, Hashable {
        package var reason: String
        package var count: Int
    }

    /// A phone that does not show the right content.
    package struct WrongPhone: Sendable, Hashable {
        package var phone: DeviceID
        package var activity: ActivityID
        package var why: String
    }

    /// The time from a post to its push's arrival in milliseconds, by nearest rank; nil without measurements.
    package struct Latency: Sendable, Hashable {
        package var p50: Int64?
        package var p99: Int64?
        package var maximum: Int64?
        /// The number of measured pushes: each post once per phone, if the phone was reachable at the time of the post.
        package var measured: Int
        /// Pushes with a state that was posted before the phone was reachable.
        package var caughtUp: Int
    }

    /// Phones that follow a posted activity.
    package var phones: Int
    package var right: Int
    /// Sorted by phone.
    package var wrong: [WrongPhone]
    package var pushes: [PushCount]
    package var latency: Latency
    package var ignored: [IgnoredCount]
    package var secondCards: Int
    /// Reports of phones that Tally has not accepted yet.
    package var reportsPending: Int

    /// Whether there are phones and all of them show the right content.
    package var isRight: Bool { phones > 0 && wrong.isEmpty }
}

package import ActivityModel

/// How well phones follow what was posted: what the quickstart prints.
package struct ReplayReport: Sendable, Hashable {
    /// Received pushes of one event at one priority.
    package struct PushCount: Sendable, Hashable {
        package var event: String
        package var priority: Int
        package var count: Int
    }

    /// How often phones ignored a push for one reason.
    package struct IgnoredCount: Sendable, Hashable {
        package var reason: String
        package var count: Int
    }

    /// A phone that does not show what it should.
    package struct WrongPhone: Sendable, Hashable {
        package var phone: DeviceID
        package var activity: ActivityID
        package var why: String
    }

    /// From post to push received, in milliseconds, by nearest rank; nil if nothing was measured.
    package struct Latency: Sendable, Hashable {
        package var p50: Int64?
        package var p99: Int64?
        package var maximum: Int64?
        /// Pushes that were measured: each post once per phone, and only where the phone could be reached when it was
        /// posted.
        package var measured: Int
        /// Pushes that brought a phone a state that was posted before the phone could be reached.
        package var caughtUp: Int
    }

    /// Phones that follow an activity that was posted to.
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

    /// True if there are phones and every one shows what it should.
    package var isRight: Bool { phones > 0 && wrong.isEmpty }
}

package import ActivityModel

/// The properties of a phone, and the choices of its owner and its app.
package struct PhoneProfile: Sendable {
    /// The id that the app chose for this installation.
    package var id: DeviceID
    package var environment: APNSEnvironment
    package var bundleID: BundleID
    package var osVersion: OSVersion
    package var appVersion: AppVersion?
    package var userID: UserID?
    /// The attributes types in the app.
    package var types: [ActivityTypeName]
    /// The attribute that contains the caller's activity id.
    package var idAttribute: String
    /// The caller's ids of the activities that this phone should show. The report checks them.
    package var follows: [ActivityID] = []
    /// If false, the app requests no start tokens and opens activities itself.
    package var takesStartTokens = true
    package var frequentPushesEnabled = true
    /// Determines tokens and delays. The same seed gives the same phone.
    package var seed: UInt64
    /// The app reports generations above this number. A phone of a later run with the same id must start above those of
    /// the earlier run, as in an app that stores its count.
    package var generationBase: Int64 = 0
}

/// Apple's limits on a phone, and the delay of its tokens. Times are in milliseconds.
package struct PhoneLimits: Sendable, Hashable {
    /// Starts by push within the window. Apple staff, forum thread 799505: about ten are delivered, later ones are
    /// silently dropped.
    package var startBudget = 10
    /// An assumption. Apple does not publish the window's length.
    package var startWindow: Int64 = 3_600_000
    /// Updates and ends at priority 10 to the app's cards within the window, if the user has turned off frequent
    /// updates. Apple publishes no number; users report about 15 per hour.
    package var highPriorityBudget = 15
    /// The same with frequent updates. About 230 were observed on a device.
    package var frequentHighPriorityBudget = 230
    /// Apple's documentation calls it a budget per hour.
    package var highPriorityWindow: Int64 = 3_600_000
    /// Simultaneous activities of one app. This is the commonly reported number; Apple publishes none.
    package var activities = 5
    /// The system ends an activity after 8 hours.
    package var lifetime: Int64 = 8 * 3_600_000
    /// An ended activity stays on the Lock Screen for at most 4 hours.
    package var linger: Int64 = 4 * 3_600_000
    /// The most bytes of attributes and content state together, serialised.
    package var heldBytes = 4096
    /// How long iOS takes to give the app an update token after a start by push.
    package var tokenDelay: ClosedRange<Int64> = 50...500

    package init() {}
}

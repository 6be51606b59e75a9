package import ActivityModel

/// What a phone is, and what its owner and its app want.
package struct PhoneProfile: Sendable {
    /// The id that the app chose for this installation.
    package var id: DeviceID
    package var environment: APNSEnvironment
    package var bundleID: BundleID
    package var osVersion: OSVersion
    package var appVersion: AppVersion?
    package var userID: UserID?
    /// The attributes types that the app was built with.
    package var types: [ActivityTypeName]
    /// The attribute in which the app finds the caller's activity id.
    package var idAttribute: String
    /// The caller's ids of the activities that this phone is meant to show: what a report holds it to.
    package var follows: [ActivityID]
    /// False: the app never asks for start tokens and opens activities by itself.
    package var takesStartTokens: Bool
    package var frequentPushesEnabled: Bool
    /// Decides tokens and delays; the same seed gives the same phone.
    package var seed: UInt64
    /// The generations that the app reports are greater. A phone of the same id in a later run must begin above those
    /// of an earlier one, as an app that keeps its count does.
    package var generationBase: Int64 = 0

    package init(
        id: DeviceID,
        environment: APNSEnvironment,
        bundleID: BundleID,
        osVersion: OSVersion,
        appVersion: AppVersion? = nil,
        userID: UserID? = nil,
        types: [ActivityTypeName],
        idAttribute: String,
        follows: [ActivityID] = [],
        takesStartTokens: Bool = true,
        frequentPushesEnabled: Bool = true,
        seed: UInt64
    ) {
        self.id = id
        self.environment = environment
        self.bundleID = bundleID
        self.osVersion = osVersion
        self.appVersion = appVersion
        self.userID = userID
        self.types = types
        self.idAttribute = idAttribute
        self.follows = follows
        self.takesStartTokens = takesStartTokens
        self.frequentPushesEnabled = frequentPushesEnabled
        self.seed = seed
    }
}

/// Apple's limits on a phone, and the one delay that is not a limit. Times in milliseconds.
package struct PhoneLimits: Sendable, Hashable {
    /// Starts by push within the window. Apple staff, forum thread 799505: about ten, then silence.
    package var startBudget = 10
    /// The window's length is not published; one hour is an assumption.
    package var startWindow: Int64 = 3_600_000
    /// Updates and ends at priority 10 to the app's cards within the window, for phones whose person has switched
    /// frequent updates off. Apple publishes no number; about 15 per hour is what people report.
    package var highPriorityBudget = 15
    /// The same with frequent updates; about 230 were seen left on a device.
    package var frequentHighPriorityBudget = 230
    /// Apple speaks of a budget per hour.
    package var highPriorityWindow: Int64 = 3_600_000
    /// Activities of one app at a time: the usual report, nothing published.
    package var activities = 5
    /// The system ends an activity after 8 hours.
    package var lifetime: Int64 = 8 * 3_600_000
    /// An ended activity stays on the Lock Screen for at most 4 hours.
    package var linger: Int64 = 4 * 3_600_000
    /// Attributes and content state together, serialised.
    package var heldBytes = 4096
    /// How long iOS takes to hand the app an update token after a start by push.
    package var tokenDelay: ClosedRange<Int64> = 50...500

    package init() {}
}

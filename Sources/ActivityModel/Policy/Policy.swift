/// The settings of one activity type: budgets, durations and rules. Every field that a caller omits has a default.
///
/// All durations are whole seconds.
package struct Policy: Sendable, Hashable {
    /// The maximum duration: 30 days, the longest time that APNs stores a push.
    package static let maximumDuration = 2_592_000
    /// The maximum time that an ended card may stay: 4 h (Apple, ActivityKit).
    package static let maximumDismissal = 14_400
    /// The maximum number of rules. Each rule costs a comparison at every accept.
    package static let maximumRules = 64

    /// A change's content counts as stale this long after its timestamp; `nil`: never.
    package var staleAfterSeconds: Int?
    /// An ended card is removed this long after the end's timestamp; 0: at once; `nil`: Apple's default (4 h).
    package var dismissAfterSeconds: Int?
    /// The alert of a start that has none.
    package var startAlert: AlertContent?
    /// The String attribute that Tally fills with the activity id.
    package var idAttribute: String?
    /// The integer property of the content state that Tally fills with the revision, so that an app can tell which one
    /// its card shows.
    package var revisionProperty: String?
    /// How long APNs stores a push for a phone that is offline.
    package var expiration = Expiration()
    /// The priority-10 pushes that one activity may spend.
    package var budget = Budget()
    /// The starts that one device may get.
    package var startBudget = StartBudget()
    /// A start without an answer is repeated once after this time.
    package var startRetrySeconds = 120
    /// A started phone that has no update token after this time counts as overdue.
    package var tokenWaitSeconds = 3600
    /// If a start's update token has not arrived after this time, a background push wakes the app. `nil`: no such push.
    package var wakeAfterSeconds: Int?
    /// A card of this age is handed over to a new card, which the device is started for. `nil`: never.
    package var continueAfterHours: Int?
    /// Whether Tally sends an ordinary alert if the device cannot show a Live Activity.
    package var fallbackAlert = false
    /// Tally ends an activity that had no change for this long; `nil`: never.
    package var endWhenSilentSeconds: Int?
    /// What happens to the card of somebody who no longer follows a topic of the audience.
    package var onUnfollow = OnUnfollow.keep
    /// Whether a card that its app reported as pending is sent updates.
    package var pendingUpdates = PendingUpdates.wait
    /// The storage policy of this type's channels.
    package var channelStorage = ChannelStorage.mostRecent
    /// How long a channel stays after the end; `nil`: see ``ChannelStorage/defaultGraceSeconds``.
    package var channelGraceSeconds: Int?
    /// Rules for the urgency of changes that name none. The first that matches decides.
    package var rules: [PolicyRule] = []

    /// Every field at its default.
    package init() {}

    /// How long a channel stays after the end of its activity.
    package func channelGrace(_ storage: ChannelStorage) -> Int { channelGraceSeconds ?? storage.defaultGraceSeconds }
}

extension Policy {
    /// How long APNs stores pushes of each kind; 0: one attempt, nothing is stored.
    package struct Expiration: Sendable, Hashable {
        /// For starts, in seconds.
        package var start = 600
        /// For updates, in seconds.
        package var update = 28800
        /// For ends, in seconds.
        package var end = 28800

        /// The contract's defaults.
        package init() {}

        /// The duration for one kind of change.
        package func seconds(_ kind: ChangeKind) -> Int {
            switch kind {
            case .start: start
            case .update: update
            case .end: end
            }
        }
    }

    /// Units of priority 10 per activity in a sliding window, by class of device.
    package struct Budget: Sendable, Hashable {
        /// For devices without frequent pushes, and for a channel.
        package var ordinary = 10
        /// For devices that allow frequent pushes.
        package var frequent = 60
        /// The length of the window.
        package var windowSeconds = 3600
        /// Units that notable changes leave for alerts, critical changes and the end.
        package var reserve = 2

        /// The contract's defaults.
        package init() {}
    }

    /// Starts per device in a sliding window. The phone's own budget is about 10 (Apple forum 799505).
    package struct StartBudget: Sendable, Hashable {
        /// The most starts in a window.
        package var count = 10
        /// The length of the window.
        package var windowSeconds = 3600

        /// The contract's defaults.
        package init() {}
    }

    /// The `apns-expiration` of a push that leaves now (UNIX seconds, or 0 for one attempt only).
    ///
    /// `storage` is the storage policy of the channel; `nil` for a push to a device. On a channel that stores nothing,
    /// APNs refuses anything but 0 (Apple, sending broadcast requests).
    package func expiration(of kind: ChangeKind, at now: Timestamp, storage: ChannelStorage? = nil) -> Int64 {
        let seconds = expiration.seconds(kind)
        return storage == ChannelStorage.none || seconds == 0 ? 0 : now + Int64(seconds)
    }
}

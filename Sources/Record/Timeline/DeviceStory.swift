import APITypes
import APNSTransport
import ActivityModel

/// All that is known of one device's part in an activity, for ``DeviceVerdict`` to judge.
struct DeviceStory: Sendable, Hashable {
    struct Activity: Sendable, Hashable {
        var state: ActivityState
        /// The newest accepted revision.
        var newest: Revision
        var environment: APNSEnvironment
        var startsAt: Instant?
        /// Whether nothing leaves for the app because too many tokens were rejected.
        var isHalted = false
        /// Whether Tally fills an attribute with the activity's id.
        var hasIDAttribute = true
    }

    struct Device: Sendable, Hashable {
        var environment: APNSEnvironment
        /// Whether the audience covers it. Nobody's does after the end.
        var isWanted: Bool
        /// Why it could not be started if it were wanted, in the word of a `StartStateMachine.Obstacle`.
        var obstacle: String?
        /// Whether its start token for the activity's type was rejected, and the end of the halt that stands tries it again.
        var hasSuspectStartToken = false
        /// As the app reported it.
        var appVersion: String?
    }

    /// What became of its start by push.
    struct Start: Sendable, Hashable {
        var state: StartStateMachine.State
        var attempts = 0
        var reason: String?
        /// When it is sent, or sent again.
        var dueAt: Instant?
        var claimedAt: Instant?
        /// Whether an ordinary alert was sent instead.
        var hasFallenBack = false
    }

    /// Its card.
    struct Card: Sendable, Hashable {
        var mode: SubscriptionMode
        var state: SubscriptionState
        var reason: String?
        /// The newest revision that APNs accepted for it, or that it is known to have.
        var sentRevision: Revision = 0
        /// The newest revision that its start carried, or that its app reported.
        var confirmedRevision: Revision = 0
        var startedAt: Instant
        /// When the app last reported it.
        var registeredAt: Instant
        /// When it is tried again.
        var dueAt: Instant?
        var isOverdue = false
        var isWoken = false
        /// Whether the end of the halt that stands tries its token again, if that was rejected.
        var isSuspect = false
        /// Until when its ring, or the channel, holds routine changes back, because a rule spaces them out.
        var heldUntil: Instant?
        /// The newest revision that its app saw on it.
        var shown: Shown?
        /// When its app first reported it as pending; nil: it has begun.
        var pendingSince: Instant?
    }

    /// What the app said in a receipt.
    struct Shown: Sendable, Hashable {
        var revision: Revision
        /// When the card showed it at the latest.
        var at: Instant
    }

    struct Channel: Sendable, Hashable {
        var state: ChannelState
        var storage: ChannelStorage
        /// The newest revision that APNs accepted for it.
        var sentRevision: Revision
        var reason: String?
    }

    /// The newest push that the timeline has a row of.
    struct Push: Sendable, Hashable {
        var revision: Revision?
        var outcome: PushOutcome.Word?
        /// The status and the reason.
        var words: String
        var at: Instant
        var priority: Int?
    }

    /// How the newest revision was sent.
    struct Spending: Sendable, Hashable {
        var priority: Int
        /// A ``PriorityDecision/Reason``.
        var reason: String
        /// The pushes of priority 10 that this phone got up to then within the window, from all activities.
        var spent: Int
        var units: Int
        var windowSeconds: Int
    }

    var activity: Activity
    /// Nil if no such device is registered.
    var device: Device?
    var start: Start?
    var card: Card?
    var channel: Channel?
    var lastPush: Push?
    var spending: Spending?
}

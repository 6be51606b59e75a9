package import ActivityModel
import Store

/// A kind of work that waits in the database until it is due.
///
/// The raw value is its name in the answer of ``DueWork/look()``.
package enum WorkKind: String, CaseIterable, Sendable {
    /// Segments and announcements, for the ``Dispatcher``.
    case segments
    /// For the ``ScheduleRunner``.
    case schedules
    /// Ordinary pushes, for the ``PushQueue``.
    case sandboxPushes = "pushes.sandbox"
    case productionPushes = "pushes.production"
    /// For the ``CardWatcher``.
    case cards
    /// For ``Channels/duty``.
    case channelDeletions = "channels.deletion"
    case lostChannels = "channels.lost"
    /// For the ``HaltPatrol``: due for as long as there is a halt.
    case halts
    /// For ``Webhooks/duty``: due while a webhook exists that is not paused.
    case webhooks

    /// The ordinary pushes of an environment.
    package static func pushes(_ environment: APNSEnvironment) -> WorkKind {
        environment == .sandbox ? .sandboxPushes : .productionPushes
    }

    /// Whether somebody notices a delay of a second.
    var isUrgent: Bool {
        switch self {
        case .segments, .schedules, .sandboxPushes, .productionPushes: true
        case .cards, .channelDeletions, .lostChannels, .halts, .webhooks: false
        }
    }

    /// The SQL for the time from which some of it is or was due; null if no such work exists.
    var earliest: String {
        switch self {
        case .segments:
            """
            SELECT least(
                (SELECT due_at FROM segments WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1),
                (SELECT now() FROM wake_ups LIMIT 1)
            )
            """
        case .schedules: "SELECT due_at FROM schedules WHERE state = 'pending' ORDER BY due_at LIMIT 1"
        case .sandboxPushes: "SELECT due_at FROM pushes WHERE environment = 'sandbox' ORDER BY due_at LIMIT 1"
        case .productionPushes: "SELECT due_at FROM pushes WHERE environment = 'production' ORDER BY due_at LIMIT 1"
        case .cards:
            """
            SELECT least(
                (SELECT check_at FROM subscriptions WHERE check_at IS NOT NULL ORDER BY check_at LIMIT 1),
                (SELECT due_at FROM continuations WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1)
            )
            """
        case .channelDeletions:
            """
            SELECT delete_at FROM channels AS c WHERE \(ChannelStanding.awaitsDeletion("c"))
            ORDER BY delete_at LIMIT 1
            """
        case .lostChannels: "SELECT now() FROM channels WHERE ended_through IS NOT NULL LIMIT 1"
        case .halts: "SELECT now() FROM sending_halts LIMIT 1"
        case .webhooks: "SELECT now() FROM webhooks WHERE pause_reason IS NULL LIMIT 1"
        }
    }
}

package import JSON

/// The content of `aps` in an ordinary push: all of Apple's keys except those for Live Activities.
///
/// Source: Apple, "Generating a remote notification", table 1; `content-changed` is from "Updating widgets with
/// WidgetKit push notifications".
package struct NotificationContent: Sendable, Hashable {
    /// The alert to show.
    package var alert: NotificationAlert?
    /// The number on the app's icon; 0 removes it.
    package var badge: Int?
    /// The sound to play.
    package var sound: NotificationSound?
    /// Groups notifications.
    package var threadID: String?
    /// The app's own kind of notification; it selects the buttons.
    package var category: String?
    /// Wakes the app in the background.
    package var isContentAvailable = false
    /// Whether widgets or controls must reload.
    package var isContentChanged = false
    /// The app's service extension may change the notification before it is shown.
    package var isMutable = false
    /// The window to bring forward.
    package var targetContentID: String?
    /// How much it may interrupt.
    package var interruptionLevel: InterruptionLevel?
    /// Rank among the app's notifications, from 0 to 1.
    package var relevanceScore: JSONNumber?
    /// A value that the current Focus filters by.
    package var filterCriteria: String?

    /// Empty content.
    package init() {}

    /// Apple's shape, always in the same key order.
    package var wire: JSONValue {
        var object = JSONObject()
        object["alert"] = alert?.wire
        object["badge"] = badge.map { .number(JSONNumber($0)) }
        object["sound"] = sound?.wire
        object["thread-id"] = threadID.map(JSONValue.string)
        object["category"] = category.map(JSONValue.string)
        object["content-available"] = isContentAvailable ? 1 : nil
        object["content-changed"] = isContentChanged ? true : nil
        object["mutable-content"] = isMutable ? 1 : nil
        object["target-content-id"] = targetContentID.map(JSONValue.string)
        object["interruption-level"] = interruptionLevel.map { .string($0.rawValue) }
        object["relevance-score"] = relevanceScore.map(JSONValue.number)
        object["filter-criteria"] = filterCriteria.map(JSONValue.string)
        return .object(object)
    }
}

/// How much a notification may interrupt.
package enum InterruptionLevel: String, Sendable, Hashable, CaseIterable {
    /// Shown in the notification list only.
    case passive
    /// The default behavior.
    case active
    /// Interrupts at once, even if a summary is scheduled; the app needs a capability for it.
    case timeSensitive = "time-sensitive"
    /// Bypasses the mute switch and every Focus; the app needs Apple's approval.
    case critical
}

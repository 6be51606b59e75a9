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

    /// Reads Apple's shape.
    ///
    /// Unknown keys are refused. APNs would ignore them and answer 200, and the caller would never notice the mistake.
    package init(json: JSONValue, at place: JSONPointer = JSONPointer()) throws(InvalidFields) {
        var reader = FieldReader(json, at: place)
        alert = Self.part("alert", place, &reader) { value, place throws(InvalidFields) in
            try NotificationAlert(json: value, at: place)
        }
        badge = reader.optionalInteger("badge", in: 0...Int(Int32.max))
        sound = Self.part("sound", place, &reader) { value, place throws(InvalidFields) in
            try NotificationSound(json: value, at: place)
        }
        threadID = reader.text("thread-id")
        category = reader.text("category")
        isContentAvailable = reader.integer("content-available", in: 0...1, default: 0) == 1
        isContentChanged = reader.flag("content-changed")
        isMutable = reader.integer("mutable-content", in: 0...1, default: 0) == 1
        targetContentID = reader.text("target-content-id")
        interruptionLevel = reader.optionalChoice("interruption-level")
        relevanceScore = reader.number("relevance-score", in: 0...1)
        filterCriteria = reader.text("filter-criteria")
        try reader.finish()
    }

    private static func part<Part>(
        _ key: String,
        _ place: JSONPointer,
        _ reader: inout FieldReader,
        read: (JSONValue, JSONPointer) throws(InvalidFields) -> Part
    ) -> Part? {
        guard let value = reader.value(key) else { return nil }
        do {
            return try read(value, place.appending(key))
        } catch {
            reader.adopt(error)
            return nil
        }
    }

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

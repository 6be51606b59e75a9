internal import APITypes
internal import ActivityModel
public import Foundation

/// What happened to an activity, or to one device's part in it, and what it comes to.
public struct ActivityTimeline: Sendable, Hashable {
    /// What it comes to.
    public struct Verdict: Sendable, Hashable {
        /// An open set of words.
        public let code: String
        /// For people: whole sentences.
        public let text: String
    }

    /// One thing that happened.
    public struct Entry: Sendable, Hashable {
        /// When it happened.
        public let at: Date
        /// An open set of words.
        public let kind: String
        /// For people: a sentence.
        public let text: String
        /// Whom it happened to; nil where it concerns all.
        public let device: String?
        /// The change that it is about.
        public let revision: Int64?
        /// The `apns-priority` of a push.
        public let priority: Int?
        /// What the answer to a push means for its destination, such as `accepted` or `token_dead`.
        public let outcome: String?
        /// Why: a word of Apple's or Tally's.
        public let reason: String?
        /// The reason as a sentence, with the figures of that moment.
        public let explanation: String?
    }

    /// The activity.
    public let activity: String
    /// The device that was asked for.
    public let device: String?
    /// Where the activity stands in its life.
    public let state: ActivityStatus.State
    /// The newest one.
    public let revision: Int64
    /// What it comes to.
    public let verdict: Verdict
    /// The newest first.
    public let entries: [Entry]
    /// What leads to older entries; nil where there are none.
    public let nextCursor: String?

    init(_ answer: TimelineAnswer) {
        activity = answer.activityID.rawValue
        device = answer.deviceID?.rawValue
        state = ActivityStatus.State(answer.state)
        revision = answer.revision
        verdict = Verdict(code: answer.verdict.code, text: answer.verdict.text)
        entries = answer.page.items.map { Entry($0) }
        nextCursor = answer.page.nextCursor
    }
}

extension ActivityTimeline.Entry {
    init(_ entry: TimelineEntry) {
        at = Date(entry.at)
        kind = entry.kind
        text = entry.text
        device = entry.deviceID?.rawValue
        revision = entry.revision
        priority = entry.priority
        outcome = entry.outcome
        reason = entry.reason
        explanation = entry.explanation
    }
}

extension TallyBackend {
    /// Explains an activity: what happened to it, or to one device's part in it, and why a phone shows what it shows.
    ///
    /// - Parameters:
    ///   - id: The activity.
    ///   - device: The device whose part is told; nil: the whole activity.
    ///   - limit: The most entries of one answer, 1 to 1000.
    ///   - cursor: ``ActivityTimeline/nextCursor`` of the answer before; nil: the newest entries.
    /// - Returns: One page of the story.
    /// - Throws: ``TallyError`` with the code `not_found`.
    public func explain(
        _ id: String,
        device: String? = nil,
        limit: Int = 100,
        cursor: String? = nil
    ) async throws(TallyError) -> ActivityTimeline {
        let id = try Self.activityID(id)
        var deviceID: DeviceID?
        if let device { deviceID = try Self.deviceID(device) }
        return try await call { [deviceID] client throws(ClientError) in
            let page = PageRequest(limit: limit, cursor: cursor)
            return ActivityTimeline(try await client.timeline(app, id, device: deviceID, page))
        }
    }
}

internal import APITypes
internal import ActivityModel
public import Foundation

/// The history of an activity, or of one device in it, with a summary.
public struct ActivityTimeline: Sendable, Hashable {
    /// A summary of the history.
    public struct Verdict: Sendable, Hashable {
        /// A word for programs. Later versions may add more.
        public let code: String
        /// The same for people, in whole sentences.
        public let text: String
    }

    /// One thing that happened.
    public struct Entry: Sendable, Hashable {
        /// When it happened.
        public let at: Date
        /// A word for programs. Later versions may add more.
        public let kind: String
        /// The same for people, in one sentence.
        public let text: String
        /// The device that it happened to; nil if it concerns all.
        public let device: String?
        /// The revision that it concerns.
        public let revision: Int64?
        /// The `apns-priority` of a push.
        public let priority: Int?
        /// The effect of APNs' answer on the destination, such as `accepted` or `token_dead`.
        public let outcome: String?
        /// The reason: a word of Apple's or Tally's.
        public let reason: String?
        /// The reason as a sentence, with the figures at that time.
        public let explanation: String?
    }

    /// The activity.
    public let activity: String
    /// The device that the request named.
    public let device: String?
    /// The stage of the activity's life.
    public let state: ActivityStatus.State
    /// The newest revision.
    public let revision: Int64
    /// The summary.
    public let verdict: Verdict
    /// The entries, newest first.
    public let entries: [Entry]
    /// The cursor of the next page, with older entries; nil on the last page.
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
    /// Explains why a phone shows what it shows: the history of an activity, or of one device in it.
    ///
    /// - Parameters:
    ///   - id: The activity.
    ///   - device: Only the history of this device; nil: the whole activity.
    ///   - limit: The most entries in one page, 1 to 1000.
    ///   - cursor: ``ActivityTimeline/nextCursor`` of the previous page; nil: the newest entries.
    /// - Returns: One page of the history.
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

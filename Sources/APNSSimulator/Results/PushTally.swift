import ActivityModel
import JSON

/// Counts the received pushes and measures their latency, phone by phone.
struct PushTally {
    private struct Kind: Hashable {
        var event: String
        var priority: Int
    }

    private let activities: [ActivityID: PostedActivity]
    private var counts: [Kind: Int] = [:]
    private var ignored: [IgnoreReason: Int] = [:]
    private var milliseconds: [Int64] = []
    private var caughtUp = 0
    /// The posts that a payload can come from, cached because many phones get the same object.
    private var candidates: [Candidate: [Post]] = [:]

    private struct Candidate: Hashable {
        var body: ObjectIdentifier
        var activity: ActivityID
    }

    init(activities: [ActivityID: PostedActivity]) {
        self.activities = activities
    }

    mutating func count(_ phone: Phone) {
        var seen: Set<SeenPost> = []
        for push in phone.received {
            counts[Kind(event: push.body.event?.rawValue ?? "other", priority: push.priority), default: 0] += 1
            if case .ignored(let reason) = push.verdict {
                ignored[reason, default: 0] += 1
                continue
            }
            guard let card = push.card, let id = phone.cards[card].activityID, let post = post(for: push, of: id),
                seen.insert(SeenPost(activity: id, revision: post.revision)).inserted
            else { continue }
            if push.reachableSince > post.postedAt {
                caughtUp += 1
            } else {
                milliseconds.append(push.at.milliseconds - post.postedAt)
            }
        }
    }

    private struct SeenPost: Hashable {
        var activity: ActivityID
        var revision: Revision
    }

    /// The newest post with the push's content that was posted before the push arrived.
    private mutating func post(for push: ReceivedPush, of id: ActivityID) -> Post? {
        let key = Candidate(body: ObjectIdentifier(push.body), activity: id)
        let posts: [Post]
        if let known = candidates[key] {
            posts = known
        } else {
            posts = activities[id]?.posts(carriedBy: push.body) ?? []
            candidates[key] = posts
        }
        return posts.last { $0.postedAt <= push.at.milliseconds }
    }

    // MARK: Results

    var pushCounts: [ReplayReport.PushCount] {
        let order = ["start", "update", "end"]
        return counts.map { ReplayReport.PushCount(event: $0.event, priority: $0.priority, count: $1) }
            .sorted { left, right in
                let places = (order.firstIndex(of: left.event) ?? 3, order.firstIndex(of: right.event) ?? 3)
                return (places.0, left.priority) < (places.1, right.priority)
            }
    }

    var ignoredCounts: [ReplayReport.IgnoredCount] {
        ignored.map { ReplayReport.IgnoredCount(reason: $0.rawValue, count: $1) }
            .sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    }

    var latency: ReplayReport.Latency {
        let sorted = milliseconds.sorted()
        func rank(_ percent: Int) -> Int64? {
            sorted.isEmpty ? nil : sorted[max(0, (sorted.count * percent + 99) / 100 - 1)]
        }
        return ReplayReport.Latency(
            p50: rank(50),
            p99: rank(99),
            maximum: sorted.last,
            measured: sorted.count,
            caughtUp: caughtUp
        )
    }
}

extension PostedActivity {
    /// The posts with the payload's content. If some have the payload's event, only these.
    fileprivate func posts(carriedBy body: PushBody) -> [Post] {
        let equal = posts.filter { contentState(after: $0) == body.contentState }
        let ofKind = equal.filter { $0.kind.rawValue == body.event?.rawValue }
        return ofKind.isEmpty ? equal : ofKind
    }
}

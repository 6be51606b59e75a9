import ActivityModel
import JSON

extension ReplayReport {
    /// Compares what phones show with the accepted posts.
    ///
    /// A phone is right if it shows the newest accepted content of each activity that it follows. If the activity has
    /// ended, its card must have ended, too. `now` is in milliseconds since 1970.
    package init(posts: [Post], phones: [Phone], reportsPending: Int, now: Int64) {
        let activities = Dictionary(grouping: posts, by: \.activityID).mapValues(PostedActivity.init)
        var tally = PushTally(activities: activities)
        var wrong: [WrongPhone] = []
        var followers = 0
        var right = 0
        var secondCards = 0
        for phone in phones {
            tally.count(phone)
            secondCards += phone.secondCards
            let followed = phone.profile.follows.compactMap { id in activities[id].map { (id, $0) } }
            guard !followed.isEmpty else { continue }
            followers += 1
            let faults = followed.compactMap { id, activity in
                phone.fault(in: id, as: activity, now: now).map {
                    WrongPhone(phone: phone.profile.id, activity: id, why: $0)
                }
            }
            right += faults.isEmpty ? 1 : 0
            wrong += faults
        }
        self.init(
            phones: followers,
            right: right,
            wrong: wrong.sorted { ($0.phone, $0.activity) < ($1.phone, $1.activity) },
            pushes: tally.pushCounts,
            latency: tally.latency,
            ignored: tally.ignoredCounts,
            secondCards: secondCards,
            reportsPending: reportsPending
        )
    }
}

/// The posts to one activity.
struct PostedActivity {
    /// Sorted by revision.
    let posts: [Post]
    /// The newest content. An end without content keeps the previous one.
    let contentState: JSONValue?
    let isEnded: Bool

    init(_ posts: [Post]) {
        self.posts = posts.sorted { $0.revision < $1.revision }
        contentState = self.posts.last { $0.contentState != nil }?.contentState
        isEnded = posts.contains { $0.kind == .end }
    }

    /// The content of the activity after a post.
    func contentState(after post: Post) -> JSONValue? {
        post.contentState ?? posts.last { $0.revision < post.revision && $0.contentState != nil }?.contentState
    }
}

extension Phone {
    /// The error in the phone's card of an activity; nil if it is right.
    fileprivate func fault(in id: ActivityID, as activity: PostedActivity, now: Int64) -> String? {
        guard let card = cards.last(where: { $0.activityID == id }) else {
            return "shows no card" + lastIgnored(card: nil)
        }
        if case .swipedAway = card.phase { return nil }
        if card.contentState != activity.contentState {
            let shown = activity.posts.last { activity.contentState(after: $0) == card.contentState }
            let newest = activity.posts.last?.revision ?? 0
            guard let shown else {
                return card.contentState == nil ? "card is empty" : "shows content that was not posted"
            }
            return "shows revision \(shown.revision) of \(newest)" + lastIgnored(card: card.number)
        }
        let isOver = [.ended, .dismissed].contains(card.state(at: now, limits: limits))
        if activity.isEnded, !isOver { return "has not ended" + lastIgnored(card: card.number) }
        if !activity.isEnded, isOver { return "has ended too early" }
        return nil
    }

    private func lastIgnored(card: Int?) -> String {
        guard let push = received.last(where: { $0.card == card }), case .ignored(let reason) = push.verdict else {
            return ""
        }
        return " (last push ignored: \(reason.rawValue))"
    }
}

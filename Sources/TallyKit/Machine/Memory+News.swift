extension Memory {
    /// The activities that had a card on this phone, in order.
    var activities: [String] { Set(cards.values.map(\.activity)).sorted() }

    /// What a report of the topics names or takes away. A report changes only topics that its ticket allows.
    var namedTopics: [String] {
        guard let topics else { return [] }
        return Set(topics).union(toldTopics ?? []).sorted()
    }

    /// Activities whose card Tally does not know as it is now.
    var unconfirmedActivities: [String] {
        activities.filter { activity in
            news(of: activity).map { .card($0) } != confirmedCards[activity]?.news
        }
    }

    /// The card by which Tally should know an activity on this phone.
    func card(of activity: String) -> Card? {
        let ofActivity = cards.values.filter { $0.activity == activity }.sorted { $0.number < $1.number }
        if let live = ofActivity.first(where: \.isLive) { return live }
        // A duplicate was never Tally's card: the elder one is what is gone.
        guard let reported = ofActivity.filter({ $0.reported != nil }).max(by: { $0.reported ?? 0 < $1.reported ?? 0 })
        else { return ofActivity.last { $0.endedByApp != .duplicate } ?? ofActivity.last }
        // Tally ignores the end of a card that it does not know. Once it knows none, it may wait for a report of a later
        // one.
        guard reported.isEndConfirmed == true else { return reported }
        let unreported = ofActivity.last {
            $0.number > reported.number && $0.reported == nil && ($0.endedByApp == nil || $0.endedByApp == .asked)
        }
        return unreported ?? reported
    }

    /// What Tally should know of an activity's card on this phone; nil while there is nothing to say.
    func news(of activity: String) -> CardNews? {
        guard let card = card(of: activity) else { return nil }
        guard card.isLive else { return CardNews(card: card.id, reach: .gone, revision: nil) }
        let isPending: Bool? = card.state == .pending ? true : nil
        let revision = card.start?.revision
        if let channel = card.start?.channel {
            return CardNews(card: card.id, reach: .channel(channel), revision: revision, isPending: isPending)
        }
        return card.updateToken.map {
            CardNews(card: card.id, reach: .token($0), revision: revision, isPending: isPending)
        }
    }

    /// Whether Tally can know the card of an activity: the app has reported it, or a push started it.
    func isKnown(_ activity: String) -> Bool {
        guard let news = news(of: activity) else { return card(of: activity)?.start == nil }
        return confirmedCards[activity]?.news == .card(news)
    }
}

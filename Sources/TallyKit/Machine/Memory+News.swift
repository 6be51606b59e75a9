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
        let reported = ofActivity.filter { $0.reported != nil }.sorted { $0.reported ?? 0 < $1.reported ?? 0 }
        // A duplicate was never Tally's card: the elder one is what is gone.
        guard let last = reported.last else {
            return ofActivity.last { $0.endedByApp != .duplicate } ?? ofActivity.last
        }
        // Tally ignores the end of a card that it does not know. A report may have been lost, so it is told the end of
        // each card that was reported. Then it may still wait for a report of a later one.
        if let untold = reported.last(where: { $0.isEndConfirmed != true }) { return untold }
        let unreported = ofActivity.last {
            $0.number > last.number && $0.reported == nil && $0.isEndConfirmed != true
                && ($0.endedByApp == nil || $0.endedByApp == .asked)
        }
        return unreported ?? lastConfirmedEnd(of: activity) ?? last
    }

    /// The card whose end Tally has confirmed last.
    private func lastConfirmedEnd(of activity: String) -> Card? {
        guard case .card(let news) = confirmedCards[activity]?.news, news.reach == .gone else { return nil }
        return cards[news.card]
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

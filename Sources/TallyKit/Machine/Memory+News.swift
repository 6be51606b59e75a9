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

    /// What Tally should know of an activity's card on this phone; nil while there is nothing to say.
    func news(of activity: String) -> CardNews? {
        let ofActivity = cards.values.filter { $0.activity == activity }.sorted { $0.number < $1.number }
        if let card = ofActivity.first(where: \.isLive) {
            let isPending: Bool? = card.state == .pending ? true : nil
            let revision = card.start?.revision
            if let channel = card.start?.channel {
                return CardNews(card: card.id, reach: .channel(channel), revision: revision, isPending: isPending)
            }
            return card.updateToken.map {
                CardNews(card: card.id, reach: .token($0), revision: revision, isPending: isPending)
            }
        }
        // A duplicate was never Tally's card: the elder one is what is gone.
        let gone = ofActivity.last { $0.endedByApp != .duplicate } ?? ofActivity.last
        return gone.map { CardNews(card: $0.id, reach: .gone, revision: nil) }
    }
}

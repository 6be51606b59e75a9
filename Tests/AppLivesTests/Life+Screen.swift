@testable import TallyKit

/// What must hold at any time, whatever goes wrong.
extension Life {
    /// An app that runs for so long has acted on what it was told: it reads twice, two seconds apart, and iOS takes a moment.
    private static let reaction: Double = 3

    /// Looks at the screens of all phones whose app runs.
    func checkScreens() {
        for phone in phones.indices where phones[phone].isThere { checkScreen(phone) }
    }

    private func checkScreen(_ phone: Int) {
        guard let process = phones[phone].process, !process.isSuspended, process.diesAfter == nil,
            now - process.awakeSince > Self.reaction
        else { return }
        if phones[phone].user == nil, phones[phone].lateStartsOverAt == nil,
            now - (phones[phone].userConfirmedAt ?? now) > Machine.lateStarts + Self.reaction
        {
            phones[phone].lateStartsOverAt = now
        }
        for (activity, cards) in cardsByActivity(phone) {
            let live = cards.filter { $0.stays && now - (process.told[$0.id] ?? now) > Self.reaction }
            if live.count > 1 { breaks(.oneCard, live.map(\.id).joined(separator: " and ")) }
            for card in live {
                if phones[phone].dismissed.contains(activity), !card.isAppStarted {
                    breaks(.staysDismissed, "\(card.id) of \(activity)")
                }
                if isLeft(card, on: phone) {
                    breaks(
                        .nothingAfterSignOut,
                        "\(card.id) of \(owners[activity]??.joined() ?? "everybody"), \(phones[phone].user ?? "nobody") is here"
                    )
                }
            }
        }
    }

    /// Whether a card is one of a user who has signed out.
    private func isLeft(_ card: PhoneCard, on phone: Int) -> Bool {
        guard let left = phones[phone].leftAt, now - left > Self.reaction else { return false }
        // All cards that were there end, also those for everybody. But the app was not told of this one, and its user is back.
        let isBack = phones[phone].leaver != nil && phones[phone].leaver == phones[phone].user
        if card.startedAt < left { return !isBack || card.firstToldAt ?? now < left }
        guard !card.isAppStarted, let owners = owners[card.activity] ?? nil, !owners.contains(phones[phone].user ?? "")
        else { return false }
        // For a while after a sign-out every card that comes is ended. A clock that was set hides how long the while is.
        guard phones[phone].user != nil else { return !phones[phone].hasClockChangedSinceLeft }
        // Once the app has reported the next user, a late push for the one before looks like one for the next.
        return card.startedAt < phones[phone].userToldAt ?? .infinity
    }

    /// Whether the app may end a card.
    func checkEnd(of id: String, on phone: Int) {
        guard let index = phones[phone].card(id), !phones[phone].isSigningOut else { return }
        let card = phones[phone].cards[index]
        guard card.stays else { return }
        let others = phones[phone].cards.contains { $0.activity == card.activity && $0.id != id && $0.stays }
        // Nobody updates the card of an activity that has ended.
        guard running.contains(card.activity), !others, !phones[phone].swiped.contains(card.activity) else { return }
        // If it is unknown how old the card before is, no library can tell whether this one continues it.
        let isOfUnknownAge = phones[phone].cards.contains {
            $0.activity == card.activity && $0.id != id && $0.hasClockChanged
        }
        guard continueAfterHours == nil || !isOfUnknownAge else { return }
        if card.isAppStarted ? card.startedAt > phones[phone].leftAt ?? -1 : isWanted(card, on: phone) {
            breaks(.wantedStays, "\(id) of \(card.activity)")
        }
    }

    /// Whether a push was meant for who is here, as far as the app can know.
    private func isWanted(_ card: PhoneCard, on phone: Int) -> Bool {
        let phone = phones[phone]
        if let owners = owners[card.activity] ?? nil, !owners.contains(phone.user ?? "") { return false }
        guard let left = phone.leftAt else { return true }
        // A card of before the sign-out, or a push that may be one for the user before.
        guard left < card.startedAt, let known = phone.userKnownAt, !phone.hasLostAnswer else { return false }
        // If the app dies as its first report leaves, the next process cannot know that it has left.
        if phone.unstoredReport != nil { return false }
        if phone.user != nil { return known < card.startedAt }
        // Nobody can tell when a card came that the app finds after a long sleep.
        return phone.lateStartsOverAt ?? .infinity < card.startedAt && !phone.hasClockChangedSinceLeft
    }

    /// Whether the app is told rightly who ended a card.
    func check(_ ending: CardEnding, on phone: Int) {
        guard let index = phones[phone].card(ending.card) else { return }
        let card = phones[phone].cards[index]
        // The app has asked for it, before anybody else or before iOS told of it.
        let process = phones[phone].process
        let isTold = process?.toldDismissed.contains(card.id) == true || process?.toldEnded.contains(card.id) == true
        if ending.cause == .app, let asked = card.endAskedAt, !isTold || asked <= card.goneAt ?? now { return }
        guard let cause = card.cause else {
            return breaks(.rightCause, "\(card.id) is live, told: \(ending.cause)")
        }
        if ending.cause == .unknown {
            // Nobody saw it, or the clock hides how old the card was.
            guard isTold, !card.hasClockChanged, (card.goneAt ?? now) - card.startedAt < Machine.longestLife - 60,
                now - card.startedAt < Machine.longestLife - 60
            else { return }
            breaks(.rightCause, "\(card.id) was ended by \(cause), and the app saw it. Told: unknown")
        } else if !cause.agrees(with: ending.cause) {
            breaks(.rightCause, "\(card.id) was ended by \(cause), told: \(ending.cause)")
        }
    }

    /// Whether a report says something new. Once a day, Tally is told again in case it has lost it.
    func checkNews(of report: Report, from phone: Int) {
        phones[phone].sentInWake[report.news, default: 0] += 1
        // Receipts are sent again once Tally knows a card that it may not have known.
        guard report.subject != .receipts else { return }
        guard let confirmed = phones[phone].confirmed[report.subject], confirmed.news == report.news,
            confirmed.device == report.deviceID
        else { return }
        guard (0...Machine.confirmedFor).contains(clock(phone) - confirmed.at) else { return }
        breaks(.quiet, "\(report.news.short) was confirmed")
    }

    /// Whether receipts say what their cards have shown, and since when.
    func checkReceipts(of report: Report, from phone: Int) {
        guard case .receipts(let receipts) = report.news else { return }
        for receipt in receipts {
            let card = phones[phone].card(receipt.card).map { phones[phone].cards[$0] }
            guard let card, card.activity == receipt.activity, let shownAt = card.shownAt[receipt.revision] else {
                breaks(.receiptTrue, "\(receipt.card) has not shown \(receipt.revision) of \(receipt.activity)")
                continue
            }
            // A clock that was set hides the age.
            guard let age = receipt.age, !card.hasClockChanged else { continue }
            let since = now - Double(age) / 1000
            // Ages are whole milliseconds.
            guard since < shownAt - 0.01 || since > shownAt + Self.latestStream + 0.01 else { continue }
            breaks(.receiptTrue, "\(card.id) shows \(receipt.revision) since \(shownAt), told: \(since)")
        }
    }
}

extension Machine {
    /// Does what can be done now: reads, asks for a ticket, sends.
    mutating func work(at now: Moment, _ actions: inout [Action]) {
        giveUp(at: now)
        // Only the timer tells that so much time has passed: the clock may have been set.
        if let second = secondReading, second.end(at: now) == nil, isTimer {
            secondReading = nil
            lastReading = nil
        }
        if let pause = tokenReading, pause.end(at: now) == nil {
            tokenReading = nil
            lastReading = nil
        }
        if areLateStartsOver(at: now) || areRepeatsOver(at: now) { lastReading = nil }
        guard memory.facts != nil else { return }
        let due = (subjects + [.receipts]).filter { dueNews(of: $0, at: now) != nil && waits($0, at: now) == nil }
        // Whatever is reported is read first: a stream may be silent or late.
        guard let reading = lastReading, (0...Self.readingServes).contains(now - reading) || due.isEmpty else {
            read(&actions)
            return
        }
        for subject in due { send(subject, at: now, &actions) }
    }

    private mutating func read(_ actions: inout [Action]) {
        guard !isReading else { return }
        isReading = true
        actions.append(.read)
    }

    /// All that Tally must know, the phone first: Tally then knows who has it.
    private var subjects: [Subject] {
        [.phone, .topics] + memory.activities.map { .activity($0) }
    }

    /// The next report: what Tally has not confirmed, or was not asked for long. Nil if there is nothing to report.
    private func dueNews(of subject: Subject, at now: Moment) -> News? {
        let news: News?
        let confirmed: Memory.Confirmed?
        switch subject {
        case .phone:
            news = memory.facts.map { .phone($0, session: memory.session) }
            confirmed = memory.confirmedPhone
        case .topics:
            guard case .phone(_, memory.session) = memory.confirmedPhone?.news else { return nil }
            news = memory.topics.map { .topics($0) }
            confirmed = memory.confirmedTopics
        case .activity(let activity):
            news = memory.news(of: activity).map { .card($0) }
            // A reading has missed the card, and the next one decides.
            if let news, !news.isGone, case .card(let card) = news, missing.contains(card.card) { return nil }
            confirmed = memory.confirmedCards[activity]
        case .receipts:
            let receipts = dueReceipts(at: now)
            return receipts.isEmpty ? nil : .receipts(receipts)
        }
        guard let news, news != trials[subject]?.parkedNews else { return nil }
        guard let confirmed, confirmed.news == news else { return news }
        // What is gone stays gone.
        if news.isGone { return nil }
        return (0...Self.confirmedFor).contains(now - confirmed.at) ? nil : news
    }

    /// Until when a subject waits; nil if it can be reported now.
    private func waits(_ subject: Subject, at now: Moment) -> Moment? {
        if let flight = flights.values.first(where: { $0.report.subject == subject && !$0.isDoubtful }) {
            return flight.since + Self.givenUpAfter
        }
        var ends = [memory.pause?.end(at: now), trials[subject]?.due(at: now)]
        if subject == .receipts { ends += [memory.receiptPause?.end(at: now), gathering?.end(at: now)] }
        return ends.compactMap(\.self).max()
    }

    private mutating func send(_ subject: Subject, at now: Moment, _ actions: inout [Action]) {
        guard let news = dueNews(of: subject, at: now), let facts = memory.facts else { return }
        guard let ticket = memory.ticket, ticket.session == memory.session, ticket.isGood(at: now),
            covers(ticket, subject, news)
        else {
            ask(for: subject, at: now, &actions)
            return
        }
        // What comes after this report is no card of the user before. So it must be known what came until now, and the first
        // reading after a launch may come too early.
        if subject == .phone, memory.leaver != nil, !memory.signedOut, !memory.hasToldUser,
            !hasJustRead || secondReading != nil
        {
            if secondReading == nil { read(&actions) }
            return
        }
        // Until its answer, nobody knows which of the two Tally has.
        switch subject {
        case .phone: if memory.confirmedPhone?.news != news { memory.confirmedPhone = nil }
        case .topics: if memory.confirmedTopics?.news != news { memory.confirmedTopics = nil }
        case .activity(let id): if memory.confirmedCards[id]?.news != news { memory.confirmedCards[id] = nil }
        case .receipts: gathering = nil
        }
        memory.generation += 1
        if subject == .topics { memory.toldTopics = memory.namedTopics }
        if case .card(let card) = news, !news.isGone {
            memory.cards[card.card]?.reported = memory.generation
            memory.cards[card.card]?.isEndConfirmed = nil
        }
        let report = Report(
            number: memory.generation,
            subject: subject,
            deviceID: memory.deviceID,
            installation: memory.installation,
            ticket: ticket.text,
            news: news,
            facts: facts
        )
        flights = flights.filter { $0.value.report.subject != subject }
        flights[report.number] = Flight(report: report, session: memory.session, since: now)
        actions.append(.send(report))
    }

    private mutating func giveUp(at now: Moment) {
        for (number, flight) in flights where now - flight.since >= Self.givenUpAfter || now < flight.since {
            flights[number]?.isDoubtful = true
        }
    }

    /// Whether something is on its way or due, so that the app had better not be suspended.
    package var isBusy: Bool {
        flights.values.contains { !$0.isDoubtful && $0.report.subject != .receipts } || asked != nil || isReading
            || nextReport != nil
    }

    /// When there is something to read or to report without an event; nil if never.
    func nextReport(at now: Moment) -> Moment? {
        guard memory.facts != nil else { return nil }
        var moments = [secondReading?.until, tokenReading?.end(at: now)]
        for subject in subjects { moments.append(nextTry(of: subject, at: now)) }
        return moments.compactMap(\.self).min()
    }

    /// When receipts are to be tried without an event; nil if never.
    func nextReceipts(at now: Moment) -> Moment? {
        memory.facts == nil ? nil : nextTry(of: .receipts, at: now)
    }

    private func nextTry(of subject: Subject, at now: Moment) -> Moment? {
        guard dueNews(of: subject, at: now) != nil else { return nil }
        return waits(subject, at: now) ?? (asked == nil ? ticketTrial.due(at: now) : nil)
    }
}

extension Machine {
    mutating func take(_ answer: Answer, to number: Int, at now: Moment, _ actions: inout [Action]) {
        guard let flight = flights.removeValue(forKey: number) else { return }
        let subject = flight.report.subject
        if let share = answer.body.receiptSampling { memory.receiptSampling = share }
        switch answer.status {
        case 200..<300 where answer.body.accepted != false:
            confirm(flight, at: now)
        case 200..<300:
            takeStale(answer.body.reason, flight, at: now, &actions)
        case 401, 403:
            refuseTicket(answer, flight, at: now, &actions)
        case 404 where flight.report.news.isGone:
            // Tally has no such card either.
            confirm(flight, at: now)
        case 404 where subject != .receipts:
            let code: KitProblem.Code = subject.activity == nil ? .reportRefused : .activityUnknown
            trials[subject, default: Trial()].fail(at: now, using: &random)
            tell(problem(code, answer, subject), &actions)
        case 408, 429, 500...:
            wait(for: answer, subject, at: now, &actions)
        default:
            if subject == .receipts {
                settleReceipts(of: flight, .refused)
            } else {
                trials[subject, default: Trial()].parkedNews = flight.report.news
            }
            tell(problem(.reportRefused, answer, subject), &actions)
        }
    }

    mutating func miss(_ number: Int, at now: Moment, _ actions: inout [Action]) {
        guard let flight = flights.removeValue(forKey: number) else { return }
        let subject = flight.report.subject
        if subject == .phone { memory.hasToldUser = false }
        trials[subject, default: Trial()].fail(at: now, using: &random)
        if subject != .receipts { tell(KitProblem(.noAnswer, activity: subject.activity), &actions) }
    }

    /// Tally is busy. It refuses receipts first, so that holds back no report, and is no problem.
    private mutating func wait(for answer: Answer, _ subject: Subject, at now: Moment, _ actions: inout [Action]) {
        let pause = answer.retryAfter.map { Pause(min($0, Trial.longestWait), from: now) }
        trials[subject, default: Trial()].fail(at: now, least: answer.retryAfter ?? 0, using: &random)
        if subject == .receipts {
            memory.receiptPause = pause ?? memory.receiptPause
        } else {
            memory.pause = pause ?? memory.pause
            tell(problem(.noAnswer, answer, subject), &actions)
        }
    }

    private mutating func confirm(_ flight: Flight, at now: Moment) {
        let confirmed = Memory.Confirmed(news: flight.report.news, at: now)
        switch flight.report.subject {
        case .phone:
            // A report of the user before says nothing about this one.
            guard flight.session == memory.session else { return }
            memory.confirmedPhone = confirmed
            if !memory.signedOut { memory.leaver = nil }
            if memory.signedOut, memory.leaver != nil, memory.lateStarts == nil {
                memory.lateStarts = Pause(Self.lateStarts, from: now)
            }
        case .topics:
            memory.confirmedTopics = confirmed
            if case .topics(let topics) = confirmed.news { memory.toldTopics = topics }
        case .activity(let activity):
            memory.confirmedCards[activity] = confirmed
            guard case .card(let news) = confirmed.news else { break }
            if news.reach == .gone {
                memory.cards[news.card]?.isEndConfirmed = true
            } else if memory.cards[news.card]?.isConfirmed == false {
                memory.cards[news.card]?.isConfirmed = true
                // Tally ignores receipts of cards that it does not know yet.
                memory.cards[news.card]?.shown?.outcome = nil
            }
        case .receipts: settleReceipts(of: flight, .taken)
        }
        settle(flight.report.subject)
    }

    private mutating func takeStale(_ reason: String?, _ flight: Flight, at now: Moment, _ actions: inout [Action]) {
        guard reason == "stale_installation" else {
            // Tally has a later report of this installation. The next one is later still.
            trials[flight.report.subject, default: Trial()].fail(at: now, using: &random)
            return
        }
        guard flight.report.installation == memory.installation else { return }
        // Two phones report as one, or this one was restored: from now on it is a phone of its own.
        memory.renew(deviceID: Self.id(&random), installation: Self.id(&random))
        flights = [:]
        asked = nil
        // Receipts may be wanted of other cards now.
        lastReading = nil
        tell(KitProblem(.installationReplaced), &actions)
    }

    /// The first refusal may be of a ticket that has expired, so the next try gets a new one at once.
    private mutating func refuseTicket(_ answer: Answer, _ flight: Flight, at now: Moment, _ actions: inout [Action]) {
        let subject = flight.report.subject
        if memory.ticket?.text == flight.report.ticket { memory.ticket = nil }
        // It was the ticket of the user before.
        guard flight.session == memory.session else { return }
        trials[subject, default: Trial()].refusedTickets += 1
        guard trials[subject, default: Trial()].refusedTickets > 1 else { return }
        trials[subject, default: Trial()].fail(at: now, least: 5, using: &random)
        tell(problem(.ticketRefused, answer, subject), &actions)
    }

    private func problem(_ code: KitProblem.Code, _ answer: Answer, _ subject: Subject) -> KitProblem {
        KitProblem(
            code,
            activity: subject.activity,
            status: answer.status,
            field: answer.body.errors?.compactMap(\.pointer).first,
            detail: answer.body.detail
        )
    }
}

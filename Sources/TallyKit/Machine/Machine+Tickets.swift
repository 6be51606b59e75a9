extension Machine {
    /// Whether Tally takes all of a report with a ticket.
    func covers(_ ticket: HeldTicket, _ subject: Subject, _ news: News) -> Bool {
        switch news {
        case .phone: true
        case .topics: Set(memory.namedTopics).isSubset(of: ticket.topics ?? [])
        case .card: subject.activity.map { covers(ticket, $0) } ?? true
        case .receipts(let receipts): receipts.allSatisfy { covers(ticket, $0.activity) }
        }
    }

    /// Tally knows by itself the cards that pushes started. A ticket that names activities covers no others.
    private func covers(_ ticket: HeldTicket, _ activity: String) -> Bool {
        ticket.activities?.contains(activity) ?? !mustBeNamed(activity)
    }

    /// Cards that the app started, and those that Tally refused under a ticket without names.
    private func mustBeNamed(_ activity: String) -> Bool {
        (trials[.activity(activity)]?.refusedTickets ?? 0) > 0
            || memory.cards.values.contains { $0.activity == activity && $0.start != nil }
    }

    mutating func ask(for subject: Subject, at now: Moment, _ actions: inout [Action]) {
        guard asked == nil, ticketTrial.due(at: now) == nil, let facts = memory.facts else { return }
        let (activities, topics) = (memory.activities, memory.namedTopics)
        ticketCount += 1
        let request = TicketRequest(
            deviceID: memory.deviceID,
            environment: facts.environment,
            activities: activities.contains(where: mustBeNamed) ? activities : nil,
            signedOut: memory.signedOut,
            topics: topics.isEmpty ? nil : topics,
            number: ticketCount
        )
        asked = request
        actions.append(.getTicket(request))
    }

    mutating func take(
        _ ticket: Ticket?,
        for request: TicketRequest,
        _ failure: String?,
        at now: Moment,
        _ actions: inout [Action]
    ) {
        // Somebody signed in or out in the meantime.
        guard asked == request else { return }
        asked = nil
        guard let ticket else {
            ticketTrial.fail(at: now, using: &random)
            return tell(KitProblem(.ticketUnavailable, detail: failure), &actions)
        }
        ticketTrial = Trial()
        memory.ticket = HeldTicket(ticket, for: request, session: memory.session, at: now)
    }
}

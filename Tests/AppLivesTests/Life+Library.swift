@testable import TallyKit

/// The library's events and actions.
extension Life {
    /// Hands an event to the library, and does what it says. The process may die between any two actions.
    func deliver(_ event: PhoneEvent, to phone: Int) {
        var events = [event]
        while !events.isEmpty, let process = phones[phone].process {
            let (time, event) = (clock(phone), events.removeFirst())
            let actions = phones[phone].process?.library.handle(event, at: time)
            for action in actions ?? [] {
                if let left = phones[phone].process?.diesAfter {
                    if left == 0 { return kill(phone) }
                    phones[phone].process?.diesAfter = left - 1
                }
                perform(action, on: phone, process.epoch, &events)
            }
        }
        // Whatever a library was told is stored when it has done all that followed.
        guard let told = phones[phone].process?.told else { return }
        for card in phones[phone].cards.indices where told[phones[phone].cards[card].id] != nil {
            phones[phone].cards[card].wasTold = true
        }
    }

    private func perform(_ action: Action, on phone: Int, _ epoch: Int, _ events: inout [PhoneEvent]) {
        switch action {
        case .save:
            phones[phone].kept = phones[phone].process?.library.kept
            if phones[phone].unstoredReport == epoch { phones[phone].unstoredReport = nil }
        case .read: events.append(.read(reading(phone)))
        case .getTicket(let request): ticketsAsked.append(AskedTicket(phone: phone, epoch: epoch, request: request))
        case .send(let report):
            send(report, from: phone, epoch)
            events.append(.sent(report.number))
        case .endCard(let card):
            note("the app ends \(card)")
            checkEnd(of: card, on: phone)
            endByApp(card, on: phone)
        case .wake(let moment):
            phones[phone].process?.timer += 1
            guard let moment, let timer = phones[phone].process?.timer else { return }
            plan(.timer(timer), on: phone, in: max(0, moment - clock(phone)), epoch: epoch)
        case .problem(let problem): note("problem: \(problem)")
        case .ended(let ending):
            note("the app hears that \(ending.card) was ended by \(ending.cause)")
            phones[phone].endsTold.insert(ending.card)
            check(ending, on: phone)
        }
    }
}

@testable import TallyKit

/// A request for a ticket that the app's backend has not answered.
struct AskedTicket {
    let phone: Int
    let epoch: Int
    let request: TicketRequest
}

/// Tickets, reports and pushes on their way.
extension Life {
    /// The app's backend asks Tally, which takes a moment.
    func askForTickets() async throws {
        while !ticketsAsked.isEmpty {
            let asked = ticketsAsked.removeFirst()
            let phone = asked.phone
            var ticket: Ticket?
            if !fault(5, .ticket, phone), phones[phone].isOnline, !isServerDown, !areTicketsRefused {
                ticket = try await server.ticket(asked.request, user: phones[phone].user)
            }
            let pause = seconds(0.05...2, .ticket, phone)
            plan(.ticket(asked.request, ticket), on: phone, in: pause, epoch: asked.epoch)
        }
    }

    func send(_ report: Report, from phone: Int, _ epoch: Int) {
        checkNews(of: report, from: phone)
        checkReceipts(of: report, from: phone)
        // Until its answer, nobody knows what Tally has.
        phones[phone].confirmed[report.subject] = nil
        phones[phone].lastSent[report.subject] = report.number
        if report.subject == .phone, phones[phone].userToldAt == nil || phones[phone].unstoredReport != nil {
            phones[phone].unstoredReport = epoch
        }
        if report.subject == .phone, phones[phone].userToldAt == nil {
            phones[phone].userToldAt = now
            phones[phone].firstReportOfUser = report.number
        }
        phones[phone].process?.onTheWay[report.number] = report
        note("phone\(phone) sends \(report.number) \(report.news.short)")
        var random = dice.next(.report, phone)
        guard phones[phone].isOnline else {
            return plan(.answer(report.number, nil), on: phone, in: .random(in: 0.01...1, using: &random), epoch: epoch)
        }
        let isSlow = random.hits(5) && areFaultsOn
        let isLost = random.hits(5) && areFaultsOn
        // What has left goes on without the process, most of the time.
        let goesOn = random.hits(50)
        let delay = Double.random(in: isSlow ? 1...15 : 0.02...0.6, using: &random)
        plan(.report(report, isLost: isLost, isByIOS: false), on: phone, in: delay, epoch: goesOn ? nil : epoch)
    }

    /// A report reaches Tally.
    func arrive(_ report: Report, from phone: Int, isLost: Bool, isByIOS: Bool) async throws {
        guard phones[phone].isThere else { return }
        guard phones[phone].isOnline || !isByIOS else {
            // iOS tries again for hours.
            return plan(.report(report, isLost: false, isByIOS: true), on: phone, in: 1800, epoch: nil)
        }
        var random = dice.next(.answer, phone)
        let answer: Answer?
        if isServerDown {
            answer = random.hits(50) ? nil : Answer(status: 503)
        } else if random.hits(4), areFaultsOn {
            answer = Answer(
                status: [429, 502, 503].randomElement(using: &random) ?? 503,
                retryAfter: random.hits(50) ? 20 : nil
            )
        } else {
            let taken = try await server.take(report, isNumbered: kind.numbersReports)
            note(
                "Tally takes \(report.number) of phone\(phone) \(report.news.short): \(taken.status) \(taken.body.reason ?? "")"
            )
            if taken.isAccepted(report) { watchOverlap(after: report, on: phone) }
            answer = isLost ? nil : taken
            if phones[phone].userKnownAt == nil,
                try await server.knownPhone(report.deviceID)?.user == phones[phone].user
            {
                phones[phone].userKnownAt = now
            }
        }
        let pause = Double.random(in: answer == nil ? 1...20 : 0.02...0.6, using: &random)
        guard let process = phones[phone].process else { return }
        plan(.answer(report.number, answer), on: phone, in: pause, epoch: process.epoch)
    }

    func deliver(_ answer: Answer?, toReport number: Int, on phone: Int) {
        guard let report = phones[phone].process?.onTheWay.removeValue(forKey: number) else { return }
        let isLatest = phones[phone].lastSent[report.subject] == number
        // Of a phone whose last report got no answer, nobody can say what Tally knows.
        if answer == nil, report.subject == .phone { phones[phone].hasLostAnswer = true }
        deliver(answer.map { .answer(number, $0) } ?? .noAnswer(number), to: phone)
        guard let answer, isLatest, phones[phone].process != nil, answer.isAccepted(report) else { return }
        if report.subject == .phone {
            phones[phone].hasLostAnswer = false
            if number >= phones[phone].firstReportOfUser ?? .max {
                phones[phone].userConfirmedAt = phones[phone].userConfirmedAt ?? now
            }
        }
        phones[phone].confirmed[report.subject] = ConfirmedNews(
            news: report.news,
            device: report.deviceID,
            at: clock(phone)
        )
    }

    func deliverPushes() async throws {
        for push in try await server.work() {
            watchContinuation(by: push)
            if case .ignored(let why) = push.kind {
                note("phone\(push.landing?.phone ?? 0) ignores a push: \(why)")
                continue
            }
            // Some are late, whatever the reason.
            let delay = seconds(0.1...2, or: 2...300, percent: 10, push.kind == .update ? .content : .push)
            for phone in phones.indices where push.landing?.phone ?? phone == phone {
                plan(.push(push), on: phone, in: delay, epoch: nil)
            }
        }
    }
}

extension News {
    var short: String {
        switch self {
        case .phone(let facts, let session): "phone \(facts.startTokens["Game"] ?? "-") session \(session)"
        case .topics(let topics): "topics \(topics)"
        case .card(let news): "\(news.card) \(news.reach)\(news.isPending == true ? " pending" : "")"
        case .receipts(let receipts):
            receipts.map { "\($0.card) shows \($0.revision) \($0.age.map { "for \($0) ms" } ?? "")" }
                .joined(separator: ", ")
        }
    }
}

extension Answer {
    /// Whether Tally has what the report says. What is gone need not be known.
    func isAccepted(_ report: Report) -> Bool {
        ((200..<300).contains(status) && body.accepted != false) || (status == 404 && report.news.isGone)
    }
}

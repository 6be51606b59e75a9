import APITypes
import ActivityModel
import Cards
import Channels
import DeliveryStore
import JSON
import Postgres
import Registry
import Store

/// One transaction of reports, of as many devices. Each is judged on its own; one that is refused changes nothing and
/// does not disturb the others.
///
/// Nearly always we know whether the devices' apps can decode what the activities send. If not, another transaction
/// takes the report. It locks types and activities before anything else (``AppVersionAdmission``). A device that has a
/// new version of the app is taken alone, because that may concern its other cards.
struct ReportGroup {
    private let reports: [CardReport]
    private let connection: PostgresConnection
    /// The key of each report's device, or why it is refused.
    private var devices: [Result<Int64, Problem>?]
    /// Reports whose devices now have another version of the app, or another installation of it.
    private var renewed: Set<Int> = []
    /// Reports of another installation than the stored one, whose generations count from the beginning again.
    private var reinstalled: Set<Int> = []
    /// Reports of an installation that was replaced; they change nothing.
    private var stale: Set<Int> = []
    /// Reports that are left to other transactions.
    private var left: Set<Int> = []
    /// Devices with another version of iOS or of the app. Perhaps new cards can continue their cards now.
    private var updated: [Int64] = []
    /// Whether the transaction announces work.
    private var givesWork = false

    typealias Answer = Result<SubscriptionAnswer, any Error>

    /// The outcome of one transaction.
    private struct Outcome {
        /// In the order of the reports; nil for those that are left.
        var answers: [Answer?] = []
        /// The places of reports that each need a transaction of their own.
        var alone: [Int] = []
        var givesWork = false
        /// The cards whose update tokens were reported.
        var byToken: [CardKey] = []
    }

    /// Accepts reports. `wakeUps` are told when there is something to send.
    ///
    /// - `isPatient`: whether they wait for those that each need a transaction of their own. On the day of a new version
    ///   of an app these are most.
    /// - Returns: One result per report, in their order: ``OutdatedType`` for reports that must be judged again,
    ///   ``StillLocked`` for those that are not waited for. Errors of the database are thrown instead.
    static func accept(
        _ reports: [CardReport],
        in database: Database,
        waking wakeUps: WakeUps,
        isPatient: Bool
    ) async throws -> [Answer] {
        var answers: [Answer?] = Array(repeating: nil, count: reports.count)
        // The reports of a transaction each; the last is the next.
        var groups = [Array(reports.indices)]
        while let places = groups.popLast() {
            var alone: [Int] = []
            do {
                let group = try await acceptTogether(places.map { reports[$0] }, in: database, wakeUps)
                for (place, answer) in zip(places, group.answers) { answers[place] = answer }
                alone = group.alone.map { places[$0] }
                if !isPatient {
                    for place in alone { answers[place] = .failure(StillLocked()) }
                    alone = []
                }
            } catch let outdated as OutdatedType {
                // Nothing is stored. The others are taken without those that it concerns; whoever is alone is judged by
                // all types that the device has cards of.
                let concerned = places.filter { reports[$0].type == outdated.type }
                for place in concerned.isEmpty ? places : concerned { answers[place] = .failure(outdated) }
            }
            let left = places.filter { answers[$0] == nil && !alone.contains($0) }
            groups += ([left] + alone.map { [$0] }).filter { !$0.isEmpty }
        }
        return answers.compactMap { $0 }
    }

    /// One transaction, repeated if something was committed beside it that it has to see, or if it stood in the way of
    /// others: it locks many devices and cards.
    private static func acceptTogether(
        _ reports: [CardReport],
        in database: Database,
        _ wakeUps: WakeUps
    ) async throws -> Outcome {
        let outcome = try await seeingDeletions {
            try await keepingAnswer {
                try await database.withYieldingTransaction { try await acceptOnce(reports, on: $0) }
            }
        }
        // What is stored is sent, whatever comes next.
        if outcome.givesWork { wakeUps.signal() }
        if !outcome.byToken.isEmpty {
            // If that fails, so does the answer: the phone reports again.
            try await database.withYieldingTransaction { connection in
                _ = try await connection.commit([SubscriptionRows.giveUpTokens(of: outcome.byToken)])
            }
        }
        return outcome
    }

    /// Reports that come with a key that was answered before are not carried out again. Of several with one new key the
    /// first is, and the others are left: they wait for its answer.
    ///
    /// - Returns: Also those that are left, none if it is a single one.
    private static func acceptOnce(_ reports: [CardReport], on connection: PostgresConnection) async throws -> Outcome {
        let keys = reports.compactMap(\.card.idempotencyKey)
        guard !keys.isEmpty else { return try await carryOut(reports, isLast: true, on: connection) }
        var kept = try await KeptAnswers<KeptCard>.read(keys, status: 200, on: connection)
        var answers: [Answer?] = reports.map { report in
            guard let key = report.card.idempotencyKey else { return nil }
            do {
                return try kept.answer(to: key).map { .success(try $0.answer(to: report.card)) }
            } catch {
                return .failure(error)
            }
        }
        let places = reports.indices.filter { place in
            answers[place] == nil && reports[place].card.idempotencyKey.map { kept.claim($0) } ?? true
        }
        let new = try await carryOut(places.map { reports[$0] }, isLast: false, on: connection)
        for (place, answer) in zip(places, new.answers) {
            answers[place] = answer
            if case .success(let answer) = answer, let key = reports[place].card.idempotencyKey {
                kept.keep(KeptCard(answer), for: key)
            }
        }
        let statements = kept.statements
        if !statements.isEmpty { _ = try await connection.commit(statements) }
        return Outcome(
            answers: answers,
            alone: new.alone.map { places[$0] },
            givesWork: new.givesWork,
            byToken: new.byToken
        )
    }

    /// `isLast`: the transaction has nothing else to do.
    private static func carryOut(
        _ reports: [CardReport],
        isLast: Bool,
        on connection: PostgresConnection
    ) async throws -> Outcome {
        guard !reports.isEmpty else { return Outcome() }
        var group = ReportGroup(reports, on: connection)
        try await group.findDevices()
        try await group.addDevices()
        try await group.admit()
        let answers = try await group.storeCards(isLast: isLast)
        return Outcome(
            answers: answers,
            alone: group.renewed.sorted(),
            givesWork: group.givesWork,
            byToken: group.byToken
        )
    }

    private init(_ reports: [CardReport], on connection: PostgresConnection) {
        self.reports = reports
        self.connection = connection
        devices = Array(repeating: nil, count: reports.count)
    }

    // MARK: Devices

    /// Looks up devices and channels, and takes note of new versions of single ones.
    ///
    /// The devices are locked: no start is claimed for one until its card can be seen (``StartClaims``). That costs
    /// nothing for a new card, whose row locks its device anyway. It comes before all other locks, as in a
    /// registration.
    private mutating func findDevices() async throws {
        let ticketed = reports.indices.compactMap { place in
            reports[place].card.openTicket.map { ticket in
                TicketedCard(
                    place: place,
                    activityKey: reports[place].facts.key,
                    device: ticket.device,
                    user: ticket.user
                )
            }
        }
        let admission = ticketed.isEmpty ? [] : [TicketedCard.admission(of: ticketed)]
        let revocations = RevocationRows.revoked(reports.map(\.card.ticket))
        let finding = DeviceRows.finding(reports.map { ($0.card.deviceName, $0.card.request) })
        let locks = RevocationRows.locks(reports.map(\.card.ticket))
        let statements = [.planningOnce, finding, ChannelRows.serving(onChannels)] + admission + revocations
        let rows = Array(try await connection.pipeline(locks + statements).dropFirst(locks.count))
        if !ticketed.isEmpty {
            let good = try TicketedCard.admitted(rows[3])
            for card in ticketed where !good.contains(card.place) { devices[card.place] = .failure(.otherActivity) }
        }
        if !revocations.isEmpty, let revoked = rows.last {
            for place in try RevocationRows.places(revoked) { devices[place] = .failure(.ticketRevoked) }
        }
        let channels = try ChannelRows.serving(rows[2])
        for row in rows[1] {
            let found = try DeviceRows.Found(row)
            let place = found.place
            guard devices[place] == nil else { continue }
            devices[place] = Result { () throws(Problem) in
                try check(reports[place], found.environment, channels)
                return found.deviceKey
            }
            guard case .success = devices[place] else { continue }
            if found.isStale {
                stale.insert(place)
            } else if found.isNewer || found.isNew {
                renewed.insert(place)
                if found.isNew { reinstalled.insert(place) }
            }
        }
        for (place, report) in reports.enumerated() where devices[place] == nil {
            if let problem = refusal(ofUnknown: report, channels) { devices[place] = .failure(problem) }
        }
    }

    /// Makes the devices that are not known yet.
    private mutating func addDevices() async throws {
        let places = devices.indices.filter { devices[$0] == nil }
            .sorted { reports[$0].card.deviceName < reports[$1].card.deviceName }
        guard !places.isEmpty else { return }
        let new = places.map { place in
            let report = reports[place]
            return DeviceRows.Reported(
                name: report.card.deviceName,
                environment: report.facts.environment,
                request: report.card.request
            )
        }
        let keys = try DeviceRows.keys(try await connection.query(DeviceRows.insertion(new)))
        for place in places {
            devices[place] = keys[reports[place].card.deviceName].map { .success($0) } ?? .failure(.internalError())
        }
    }

    /// Makes sure that it is known whether the devices' apps can decode what the activities send.
    private mutating func admit() async throws {
        if reports.count == 1 { return try await admitSingle() }
        left = renewed
        let byToken = reports.indices.filter { reports[$0].card.request.report.isByToken && !stale.contains($0) }
            .compactMap { place in cardKey(place).map { (place, $0) } }
        let admission = AppVersionAdmission(registry: reports[0].registry)
        let missing = try await admission.admit(byToken.map(\.1), on: connection)
        left.formUnion(byToken.filter { missing.contains($0.1) }.map(\.0))
    }

    /// The card of a report that this transaction takes.
    private func cardKey(_ place: Int) -> CardKey? {
        guard !left.contains(place), case .success(let key) = devices[place] else { return nil }
        return CardKey(activityKey: reports[place].facts.key, deviceKey: key)
    }

    private mutating func admitSingle() async throws {
        let isNewer = renewed.remove(0) != nil
        guard case .success(let key) = devices[0], stale.isEmpty else { return }
        let (report, request) = (reports[0], reports[0].card.request)
        if isNewer { _ = try await connection.execute(DeviceRows.renewal(of: key, by: request)) }
        if !reinstalled.isEmpty { _ = try await connection.pipeline(Installations.restart(deviceKey: key)) }
        let admission = AppVersionAdmission(registry: report.registry)
        let activityKey = request.report.isByToken ? report.facts.key : nil
        if isNewer {
            givesWork = true
            updated = [key]
            try await admission.readmit(key, andTo: activityKey, on: connection)
        } else if let activityKey {
            _ = try await admission.admit([CardKey(activityKey: activityKey, deviceKey: key)], on: connection)
        }
    }

    private var byToken: [CardKey] {
        reports.indices.filter { reports[$0].card.request.report.isByToken }.compactMap { cardKey($0) }
    }

    private var onChannels: [Int64] {
        reports.filter { report in
            switch report.card.request.report {
            case .channel, .channelID: true
            case .updateToken, .ended: false
            }
        }.map(\.facts.key)
    }

    private func check(
        _ report: CardReport,
        _ environment: APNSEnvironment,
        _ channels: [Int64: [String]]
    ) throws(Problem) {
        let environment = report.card.request.environment ?? environment
        guard environment == report.facts.environment else {
            throw .invalidRequest(
                pointer: JSONPointer().appending("environment"),
                code: FieldError.invalidValue,
                message:
                    "The device is in '\(environment.rawValue)', the activity in '\(report.facts.environment.rawValue)'."
            )
        }
        let serving = channels[report.facts.key] ?? []
        let (isServed, field) =
            switch report.card.request.report {
            case .updateToken, .ended: (true, "")
            case .channel: (!serving.isEmpty, "channel")
            case .channelID(let id): (serving.contains(id.rawValue), "channel_id")
            }
        guard isServed else {
            throw .invalidRequest(
                pointer: JSONPointer().appending(field),
                code: FieldError.invalidValue,
                message: "This is not the channel of the activity."
            )
        }
    }

    /// Why a report cannot create its device; nil if it can.
    private func refusal(ofUnknown report: CardReport, _ channels: [Int64: [String]]) -> Problem? {
        guard let environment = report.card.request.environment else {
            return .invalidRequest(
                pointer: JSONPointer().appending("environment"),
                code: FieldError.missing,
                message: "'environment' is required for a device that is not registered yet."
            )
        }
        do throws(Problem) {
            try check(report, environment, channels)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Cards

    private mutating func storeCards(isLast: Bool) async throws -> [Answer?] {
        let cards = reports.indices.map { cardKey($0) }
        let taken = cards.indices.map { stale.contains($0) ? nil : cards[$0] }
        let reported = zip(reports, taken).compactMap { report, card in
            card.map { ReportedStarts.Card(key: $0, request: report.card.request) }
        }
        let starts = try await ReportedStarts(connection: connection, cards: reported).settle()
        let settled = zip(reports, taken).compactMap { report, card -> SettledReport? in
            guard let card else { return nil }
            let start = starts[card]
            // Tally has ended this card and forgotten it, or is about to. A row would keep the device from a new card when it
            // follows again.
            if start?.isAway == true, report.card.request.report == .ended { return nil }
            return SettledReport(
                key: card,
                request: report.card.request,
                revision: report.card.request.knownRevision ?? start?.revision,
                startedAt: start?.claimedAt,
                isLeaving: start?.isAway ?? false,
                isNews: report.card.request.knownRevision != nil || start != nil
            )
        }
        let stored = try await storeRows(settled, showing: cards.compactMap { $0 }, isLast: isLast)
        return reports.indices.map { place -> Answer? in
            if case .failure(let problem) = devices[place] { return .failure(problem) }
            guard !left.contains(place) else { return nil }
            guard let card = cards[place], let row = stored[card] else {
                return .failure(Problem.notFound("the activity"))
            }
            return Result { try answer(place, row) }
        }
    }

    /// - Returns: The new rows of the cards in `shown`, which include the stored ones.
    private mutating func storeRows(
        _ reports: [SettledReport],
        showing shown: [CardKey],
        isLast: Bool
    ) async throws -> [CardKey: StoredCard] {
        guard !shown.isEmpty else { return [:] }
        let reports = reports.sorted { $0.key < $1.key }
        let kinds = Dictionary(grouping: reports, by: \.kind)
        let cards = reports.map(\.key)
        // The end may be accepted while they are stored. Whoever looks at their ring after that finds them.
        let pending = reports.filter(\.request.isPending).map(\.key)
        // Cards of one kind are locked in their order anyway.
        let next = reports.filter { $0.kind.reach != .nothing }
        let handOver = Continuations.handOver(next.map(\.key), to: next.map(\.request.activityKitID))
        var statements = kinds.count > 1 ? CardKey.hold(cards) : []
        if !next.isEmpty { statements.append(handOver) }
        statements += kinds.map { ReportRows(kind: $0, reports: $1).statement }
        statements += [CardVersions.alignment(cards), Boarding.statement(cards)]
        if !pending.isEmpty { statements.append(SegmentRows.announce(cards: pending)) }
        if !updated.isEmpty { statements.append(Continuations.lookAgain(deviceKeys: updated)) }
        statements.append(StoredCard.readingAndAnnouncing(shown))
        let results = try await isLast ? connection.commit(statements) : connection.pipeline(statements)
        var stored: [CardKey: StoredCard] = [:]
        for row in results[results.count - 1] {
            let card = try StoredCard(row)
            stored[card.key] = card
            // A card that only has to join its ring waits for the dispatcher's next look, with all others like it.
            if card.isOwed { givesWork = true }
        }
        return stored
    }

    private func answer(_ place: Int, _ stored: StoredCard) throws -> SubscriptionAnswer {
        let card = reports[place].card
        // The row is held: one with a later generation is what the report did not change.
        let isOld = card.request.generation.map { $0 < stored.generation ?? 0 } ?? false
        return SubscriptionAnswer(
            activityID: card.activity,
            deviceID: card.device,
            mode: stored.mode ?? .token,
            state: stored.state ?? .over,
            revision: stored.revision,
            activityState: stored.activityState,
            stale: stale.contains(place) ? .installation : isOld ? .generation : nil
        )
    }
}

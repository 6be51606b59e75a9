import Postgres
import ReportTypes

extension Examination {
    /// A question to the database, with the checks that come of it.
    private struct Question: Sendable {
        /// The check that fails if there is no answer.
        let check: String
        let ask: @Sendable () async throws -> [DoctorCheck]
    }

    private typealias Outcome = Result<[DoctorCheck], any Error>

    /// So many questions are asked at once: one that waits for a lock holds up few others, and the pool has room for work.
    private static let atOnce = 4
    /// The place of ``lateLockChecks()`` among the outcomes.
    private static let lateLocks = -1

    /// What is found by asking the database, and the signing keys if they could be read.
    ///
    /// A question without an answer is a finding, and the others are asked all the same. They are not if nobody would
    /// answer them.
    func questionedChecks() async -> (checks: [DoctorCheck], keys: [SigningKeyFacts]?) {
        // A server that stands still would keep each question waiting. This one waits for no lock and for no other work.
        do {
            _ = try await database.look("SELECT 1", within: Self.patience)
        } catch {
            return ([away(error)], nil)
        }
        let keys: [SigningKeyFacts]
        do {
            keys = try await signingKeys()
        } catch {
            if concernsAll(error) { return ([away(error)] + (await lockChecks()), nil) }
            let failed = Self.unanswered("signing_key", error)
            return (await outcomes(of: questions { [failed] }), nil)
        }
        return (await outcomes(of: questions { signingKeyChecks(keys) }), keys)
    }

    /// In the order of the report.
    private func questions(_ keyChecks: @escaping @Sendable () -> [DoctorCheck]) -> [Question] {
        var questions = [
            Question(check: "database_settings") { try await DatabaseFacts.read(from: database).checks }
        ]
        if installation {
            questions.append(Question(check: "disk") { [try await DiskFacts.read(from: database).check] })
        }
        let others: [Question] = [
            Question(check: "clock") { [try await ClockComparison.read(from: database).check] },
            Question(check: "migrations") { [try await schemaCheck()] },
            Question(check: "partitions") { try await partitionChecks() },
            Question(check: "daemon_settings") { try await settingChecks() },
            Question(check: "signing_key") { keyChecks() },
            Question(check: "signing_key") { try await missingKeyChecks() },
            Question(check: "credential") { refusalChecks() },
            Question(check: "provider_token") { try await credentialChecks() },
            Question(check: "due_work") { try await WorkFacts.read(app: app, from: database).checks },
            Question(check: "stamps") { [try await stampCheck()] },
            Question(check: "sending") { try await haltChecks() },
            Question(check: "channels") { try await channelChecks() },
            Question(check: "activity_channels") {
                try await ChannelTrouble.read(app: app, environment: environment, from: database).map(\.check)
            },
            Question(check: "webhooks") { try await webhookChecks() },
            Question(check: "ticket_keys") { try await ticketKeyChecks() },
        ]
        return questions + others
    }

    /// Asks all questions, and who is in their way.
    private func outcomes(of questions: [Question]) async -> [DoctorCheck] {
        let locks = await lockChecks()
        return await withTaskGroup(of: (Int, Outcome).self) { group in
            if locks.isEmpty { group.addTask { (Self.lateLocks, .success(await lateLockChecks())) } }
            var found: [Int: [DoctorCheck]] = [:]
            var obstacle: (any Error)?
            var next = 0
            var asked = 0
            while true {
                while asked < Self.atOnce, next < questions.count, obstacle == nil {
                    let (place, question) = (next, questions[next])
                    group.addTask { (place, await Self.outcome(of: question)) }
                    next += 1
                    asked += 1
                }
                if asked == 0 { group.cancelAll() }
                guard let (place, outcome) = await group.next() else { break }
                if place != Self.lateLocks { asked -= 1 }
                switch outcome {
                case .success(let checks): found[place] = checks
                case .failure(let error) where concernsAll(error): obstacle = obstacle ?? error
                case .failure(let error): found[place] = [Self.unanswered(questions[place].check, error)]
                }
            }
            let checks = questions.indices.flatMap { found[$0] ?? [] }
            return (obstacle.map { [away($0)] } ?? []) + locks + (found[Self.lateLocks] ?? []) + checks
        }
    }

    private static func outcome(of question: Question) async -> Outcome {
        do { return .success(try await question.ask()) } catch { return .failure(error) }
    }

    // MARK: No answer

    /// Whether no other question would be answered either.
    private func concernsAll(_ error: any Error) -> Bool {
        guard let error = error as? PostgresError else { return false }
        return error.code == .unreachable || error.code == .poolExhausted || error.code == .closed
    }

    /// The check in place of all that could not be looked at.
    private func away(_ error: any Error) -> DoctorCheck {
        guard (error as? PostgresError)?.code == .poolExhausted else {
            return DoctorCheck(
                "database",
                .broken,
                "The database did not answer: \(error)",
                advice:
                    "Look whether Postgres runs and can be reached from here with TALLY_DATABASE_URL; nothing is accepted or "
                    + "sent until it does."
            )
        }
        return DoctorCheck(
            "database",
            .broken,
            "Postgres runs, but this daemon's connections all stayed in use, so not everything could be looked at.",
            advice:
                "If `database_locks` names a session, it is in the way. Else Postgres is slow, or "
                + "TALLY_DATABASE_CONNECTIONS is too low (docs/guides/on-call.md#tallydatabaseslow)."
        )
    }

    static func unanswered(_ check: String, _ error: any Error) -> DoctorCheck {
        let known = error as? PostgresError
        guard known?.code == .timedOut || known?.sqlState == "57014" || known?.sqlState == "55P03" else {
            let finding = "This could not be looked at: \(error)"
            return DoctorCheck(check, .broken, finding, advice: "Look at the log of Postgres, then try again.")
        }
        return DoctorCheck(
            check,
            .broken,
            "This could not be looked at: Postgres did not answer within \(Int(patience / .seconds(1))) s.",
            advice:
                "Postgres runs. If `database_locks` names a session, it is in the way. Else look at the load of Postgres "
                + "(docs/guides/on-call.md#tallydatabaseslow)."
        )
    }
}

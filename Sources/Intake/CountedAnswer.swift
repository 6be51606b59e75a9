import APITypes
import DeliveryStore
import Postgres
import Store

/// An answer that tells how many an audience reaches.
protocol AudienceAnswer: APIAnswer {
    var audience: AudienceCounts { get set }
}

extension StartAnswer: AudienceAnswer {}

extension AudienceCounts: AudienceAnswer {
    var audience: AudienceCounts {
        get { self }
        set {
            let list = (lines: lines, pages: pages)
            self = newValue
            (lines, pages) = list
        }
    }
}

/// An answer whose audience may still have to be counted.
///
/// A large audience takes a while to count. Inside the transaction, others would wait for the activity, and all readers
/// for the events that come after it. So the transaction first keeps the answer without the counts. If the daemon dies
/// before it has counted, the next request with the key counts.
struct CountedAnswer<Answer: AudienceAnswer>: Sendable {
    private let known: KeptAnswers<Answer>.Known
    private let key: IdempotencyKey?

    /// What is kept for a key, or the answer to a request without one.
    init(_ known: KeptAnswers<Answer>.Known, for key: IdempotencyKey?) {
        self.known = known
        self.key = key
    }

    var status: Int16 { known.status }

    /// An answer whose counts say nothing yet; without an activity there is nobody to count. If there is a key it is kept in
    /// the transaction of `connection`, unless one was kept already: then this is that one.
    ///
    /// - Throws: 409 if the key came with another body.
    static func keeping(
        _ answer: Answer,
        status: Int16 = 202,
        of activityKey: Int64?,
        for key: IdempotencyKey?,
        on connection: PostgresConnection
    ) async throws -> CountedAnswer {
        let new = KeptAnswers<Answer>.Known(answer: answer, status: status, uncounted: activityKey)
        guard let key else { return CountedAnswer(new, for: nil) }
        var kept = try await KeptAnswers<Answer>.read([key], on: connection)
        if let known = try kept.known(key) { return CountedAnswer(known, for: key) }
        kept.keep(answer, for: key, status: status, uncounted: activityKey)
        _ = try await connection.pipeline(kept.statements)
        return CountedAnswer(new, for: key)
    }

    /// The whole answer, when the transaction is committed. All requests with the key get the counts that were stored
    /// first.
    func counted(in database: Database) async throws -> Answer {
        var answer = known.answer
        guard let uncounted = known.uncounted else { return answer }
        answer.audience = try await AudienceCount.of(uncounted, in: database)
        guard let key else { return answer }
        let stored = try await database.execute(KeptAnswers.completion(answer, for: key))
        guard stored == 0 else { return answer }
        let kept = try await database.withConnection { try await KeptAnswers<Answer>.read([key], on: $0) }
        return try kept.answer(to: key) ?? answer
    }
}

package import APITypes
import ActivityModel
import JSON
package import Postgres

/// Answers to requests that came with an `Idempotency-Key`, committed together with what they changed.
package struct KeptAnswers<Answer: APIAnswer> {
    private struct Kept {
        let bodyHash: [UInt8]
        let status: Int16
        /// Read only when it is wanted: the same key may have come with another kind of operation.
        let answer: JSONText
        /// The activity whose audience the answer has still to tell; nil: it is complete.
        let uncounted: Int64?
    }

    /// What is kept for a key.
    package struct Known: Sendable {
        package let answer: Answer
        package let status: Int16
        /// The activity whose audience the answer has still to tell (``CountedAnswer``); nil: it is complete.
        package let uncounted: Int64?

        package init(answer: Answer, status: Int16, uncounted: Int64?) {
            self.answer = answer
            self.status = status
            self.uncounted = uncounted
        }
    }

    /// What an answer is sent with, unless another status is named; only successes are kept.
    private let status: Int16
    /// By ``IdempotencyKey/scope``, as all that follow.
    private var kept: [[UInt8]: Kept] = [:]
    private var new: [(key: IdempotencyKey, kept: Kept)] = []
    private var claimed: Set<[UInt8]> = []
    /// What was kept more than 24 h ago, or for a former app. Its keys may be used anew.
    private var stale: [(scope: [UInt8], writtenAt: PGTimestamp)] = []

    /// Carries out a request once: what was answered to its key before is answered again, and a new answer is kept with
    /// what `body` does in the same transaction. Without a key `body` is carried out.
    ///
    /// Run it in ``keepingAnswer(_:)``: the same request may be committed beside it.
    ///
    /// - Throws: What `body` throws; 409 if the key came with another body.
    package static func once(
        _ key: IdempotencyKey?,
        status: Int16 = 202,
        on connection: PostgresConnection,
        _ body: () async throws -> Answer
    ) async throws -> Replayable<Answer> {
        guard let key else { return Replayable(try await body(), isReplay: false) }
        var kept = try await read([key], status: status, on: connection)
        if let answer = try kept.answer(to: key) { return Replayable(answer, isReplay: true) }
        let answer = try await body()
        kept.keep(answer, for: key)
        _ = try await connection.pipeline(kept.statements)
        return Replayable(answer, isReplay: false)
    }

    /// Reads the answers of the last 24 h that were given under these keys, in apps that are still there.
    package static func read(
        _ keys: [IdempotencyKey],
        status: Int16 = 202,
        on connection: PostgresConnection
    ) async throws -> KeptAnswers {
        try KeptAnswers(
            keys.isEmpty ? nil : await connection.pipeline([.planningOnce, selection(keys)]).last,
            status: status
        )
    }

    /// The statement whose rows ``init(_:status:)`` reads.
    ///
    /// What is older than the app was kept for a former app of the same id. An app is made when all that was kept for
    /// the former one is committed.
    package static func selection(_ keys: [IdempotencyKey]) -> Query {
        """
        SELECT i.scope, i.body_sha256, i.status, i.answer, i.uncounted, i.created_at,
               i.created_at > clock_timestamp() - interval '24 hours'
                   AND EXISTS (SELECT 1 FROM apps AS p
                               WHERE p.bundle_id = \(part: app(of: keys)) AND p.created_at <= i.created_at) AS is_kept
        FROM idempotency_keys AS i WHERE i.scope = ANY(\(keys.map(\.scope)))
        """
    }

    /// An SQL expression: the app of the key that the row `i` was found by.
    private static func app(of keys: [IdempotencyKey]) -> Query {
        let apps = keys.map(\.app.rawValue)
        if let app = apps.first, apps.allSatisfy({ $0 == app }) { return "\(app)" }
        return "(\(apps))[array_position(\(keys.map(\.scope)), i.scope)]"
    }

    /// - Parameters:
    ///   - rows: what was read; nil if there are no keys.
    ///   - status: that of the answers that are to be kept.
    /// - Throws: `PostgresError` for rows of another shape.
    package init(_ rows: Rows?, status: Int16 = 202) throws {
        self.status = status
        guard let rows else { return }
        for row in rows {
            let scope: [UInt8] = try row["scope"]
            let isKept: Bool = try row["is_kept"]
            guard isKept else {
                let writtenAt: PGTimestamp = try row["created_at"]
                stale.append((scope: scope, writtenAt: writtenAt))
                continue
            }
            kept[scope] = Kept(
                bodyHash: try row["body_sha256"],
                status: try row["status"],
                answer: try row["answer"],
                uncounted: try row["uncounted"]
            )
        }
    }

    /// The answer that was given before; nil for a new key.
    ///
    /// - Throws: 409 if the key came with another body.
    package func answer(to key: IdempotencyKey) throws -> Answer? {
        try known(key)?.answer
    }

    /// The same with all that is kept beside it.
    package func known(_ key: IdempotencyKey) throws -> Known? {
        guard let kept = kept[key.scope] else { return nil }
        guard kept.bodyHash == key.bodyHash else { throw Problem.idempotencyKeyReused() }
        return Known(
            answer: try Answer(json: JSONValue.parse(kept.answer.bytes)),
            status: kept.status,
            uncounted: kept.uncounted
        )
    }

    /// Whether this is the first request of the group with that key; the others have to wait for its answer.
    package mutating func claim(_ key: IdempotencyKey) -> Bool { claimed.insert(key.scope).inserted }

    /// Keeps an answer; a second request with the key in the same group gets it, too. `uncounted` is the activity whose
    /// audience it has still to tell.
    package mutating func keep(_ answer: Answer, for key: IdempotencyKey, status: Int16? = nil, uncounted: Int64? = nil)
    {
        let kept = Kept(
            bodyHash: key.bodyHash,
            status: status ?? self.status,
            answer: JSONText(answer.json.serialized()),
            uncounted: uncounted
        )
        self.kept[key.scope] = kept
        new.append((key, kept))
    }

    /// Writes the new answers. One that another daemon has written since these were read makes the transaction fail; on
    /// the next try it is read.
    package var statements: [Query] {
        guard !new.isEmpty else { return [] }
        let keys = new.map(\.key)
        return forgetting + [
            """
            INSERT INTO idempotency_keys (scope, body_sha256, status, answer, created_at, uncounted)
            SELECT k.scope, k.hash, k.status, k.answer, clock_timestamp(), k.uncounted
            FROM \(rows: [
                .each("scope", keys.map(\.scope)),
                .each("hash", keys.map(\.bodyHash)),
                .usually(202, "status", new.map(\.kept.status)),
                .each("answer", new.map(\.kept.answer)),
                .rarely("uncounted", new.map(\.kept.uncounted)),
            ]) AS k
            """
        ]
    }

    private var forgetting: [Query] {
        guard let last = stale.map(\.writtenAt).max() else { return [] }
        // Not what another daemon has written since these were read.
        return [
            "DELETE FROM idempotency_keys WHERE scope = ANY(\(stale.map(\.scope))) AND created_at <= \(last)"
        ]
    }
}

/// Carries out what keeps an answer; once more if the same request was just committed beside it: then that can be read.
package func keepingAnswer<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch let error as PostgresError where error.sqlState == "23505" {
        return try await body()
    }
}

/// Carries out what adds to an activity or a device; once more if that was deleted meanwhile: then it is seen to be
/// gone.
package func seeingDeletions<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch let error as PostgresError where error.sqlState == "23503" {
        return try await body()
    }
}

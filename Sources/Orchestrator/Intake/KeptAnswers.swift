import APITypes
import ActivityModel
import JSON
import Postgres

/// Answers to requests that came with an `Idempotency-Key`, committed together with what they changed.
struct KeptAnswers<Answer: APIAnswer> {
    private struct Kept {
        let bodyHash: [UInt8]
        let status: Int16
        /// Read only when it is wanted: the same key may have come with another kind of operation.
        let answer: String
    }

    private struct Scope: Hashable {
        let apiKeyID: String
        let method: String
        let path: String
        let key: String

        init(_ key: IdempotencyKey) {
            apiKeyID = key.apiKeyID
            method = key.method
            path = key.path
            self.key = key.key
        }
    }

    /// What an answer is sent with, unless another status is named; only successes are kept.
    private let status: Int16
    private var kept: [Scope: Kept] = [:]
    private var new: [(key: IdempotencyKey, kept: Kept)] = []
    private var claimed: Set<Scope> = []
    /// Keys that are older than 24 h, and so may be used anew.
    private var expired: [IdempotencyKey] = []

    /// Reads the answers of the last 24 h that were given under these keys.
    static func read(
        _ keys: [IdempotencyKey],
        status: Int16 = 202,
        on connection: PostgresConnection
    ) async throws -> KeptAnswers {
        try KeptAnswers(keys.isEmpty ? nil : await connection.query(selection(keys)), status: status)
    }

    /// The statement whose rows ``init(_:status:)`` reads.
    static func selection(_ keys: [IdempotencyKey]) -> Query {
        """
        SELECT i.api_key_id, i.method, i.path, i.key, i.body_sha256, i.status, i.answer::text,
               i.created_at > clock_timestamp() - interval '24 hours'
        FROM idempotency_keys AS i
        JOIN unnest(
            \(keys.map(\.apiKeyID)), \(keys.map(\.method)), \(keys.map(\.path)), \(keys.map(\.key))
        ) AS k(api_key_id, method, path, key) USING (api_key_id, method, path, key)
        """
    }

    /// - Parameters:
    ///   - rows: what was read; nil if there are no keys.
    ///   - status: that of the answers that are to be kept.
    /// - Throws: `PostgresError` for rows of another shape.
    init(_ rows: Rows?, status: Int16 = 202) throws {
        self.status = status
        guard let rows else { return }
        for (apiKeyID, method, path, key, hash, status, answer, isKept) in try rows.decoded(
            as: (String, String, String, String, [UInt8], Int16, String, Bool).self
        ) {
            let key = IdempotencyKey(apiKeyID: apiKeyID, method: method, path: path, key: key, bodyHash: hash)
            guard isKept else {
                expired.append(key)
                continue
            }
            kept[Scope(key)] = Kept(bodyHash: hash, status: status, answer: answer)
        }
    }

    /// The answer that was given before; nil for a new key.
    ///
    /// - Throws: 409 if the key came with another body.
    func answer(to key: IdempotencyKey) throws -> Answer? {
        try answerAndStatus(to: key)?.answer
    }

    /// The same with its status.
    func answerAndStatus(to key: IdempotencyKey) throws -> (answer: Answer, status: Int16)? {
        guard let kept = kept[Scope(key)] else { return nil }
        guard kept.bodyHash == key.bodyHash else { throw Problem.idempotencyKeyReused() }
        return (try Answer(json: JSONValue(parsing: kept.answer)), kept.status)
    }

    /// Whether this is the first request of the group with that key; the others have to wait for its answer.
    mutating func claim(_ key: IdempotencyKey) -> Bool { claimed.insert(Scope(key)).inserted }

    /// Keeps an answer; a second request with the key in the same group gets it, too.
    mutating func keep(_ answer: Answer, for key: IdempotencyKey, status: Int16? = nil) {
        let kept = Kept(bodyHash: key.bodyHash, status: status ?? self.status, answer: answer.json.text)
        self.kept[Scope(key)] = kept
        new.append((key, kept))
    }

    /// Writes the new answers. One that another daemon has written since these were read makes the transaction fail; on
    /// the next try it is read.
    var statements: [Query] {
        guard !new.isEmpty else { return [] }
        let keys = new.map(\.key)
        return forgetting + [
            """
            INSERT INTO idempotency_keys (api_key_id, method, path, key, body_sha256, status, answer)
            SELECT k.api_key_id, k.method, k.path, k.key, k.hash, k.status, k.answer::json
            FROM unnest(
                \(keys.map(\.apiKeyID)), \(keys.map(\.method)), \(keys.map(\.path)), \(keys.map(\.key)),
                \(keys.map(\.bodyHash)), \(new.map(\.kept.status)), \(new.map(\.kept.answer))
            ) AS k(api_key_id, method, path, key, hash, status, answer)
            """
        ]
    }

    private var forgetting: [Query] {
        guard !expired.isEmpty else { return [] }
        return [
            """
            DELETE FROM idempotency_keys AS i
            USING unnest(
                \(expired.map(\.apiKeyID)), \(expired.map(\.method)), \(expired.map(\.path)), \(expired.map(\.key))
            ) AS k(api_key_id, method, path, key)
            WHERE (i.api_key_id, i.method, i.path, i.key) = (k.api_key_id, k.method, k.path, k.key)
              AND i.created_at <= clock_timestamp() - interval '24 hours'
            """
        ]
    }
}

/// Carries out what keeps an answer; once more if the same request was just committed beside it: then that can be read.
func keepingAnswer<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch let error as PostgresError where error.sqlState == "23505" {
        return try await body()
    }
}

/// Carries out what adds to an activity or a device; once more if that was deleted meanwhile: then it is seen to be gone.
func seeingDeletions<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch let error as PostgresError where error.sqlState == "23503" {
        return try await body()
    }
}

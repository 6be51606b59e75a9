import APITypes
import ActivityModel
import JSON
import Postgres

/// Answers to requests that came with an `Idempotency-Key`, committed together with what they changed.
struct KeptAnswers<Answer: APIAnswer> {
    private struct Kept {
        let bodyHash: [UInt8]
        let answer: Answer
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

    /// What every answer kept here is sent with; only successes are kept.
    private let status: Int16
    private var kept: [Scope: Kept] = [:]
    private var new: [(IdempotencyKey, Answer)] = []
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
        SELECT i.api_key_id, i.method, i.path, i.key, i.body_sha256, i.answer::text,
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
        for (apiKeyID, method, path, key, hash, answer, isKept) in try rows.decoded(
            as: (String, String, String, String, [UInt8], String, Bool).self
        ) {
            let key = IdempotencyKey(apiKeyID: apiKeyID, method: method, path: path, key: key, bodyHash: hash)
            guard isKept else {
                expired.append(key)
                continue
            }
            kept[Scope(key)] = Kept(bodyHash: hash, answer: try Answer(json: JSONValue(parsing: answer)))
        }
    }

    /// The answer that was given before; nil for a new key.
    ///
    /// - Throws: 409 if the key came with another body.
    func answer(to key: IdempotencyKey) throws -> Answer? {
        guard let kept = kept[Scope(key)] else { return nil }
        guard kept.bodyHash == key.bodyHash else { throw Problem.idempotencyKeyReused() }
        return kept.answer
    }

    /// Keeps an answer; a second request with the key in the same group gets it, too.
    mutating func keep(_ answer: Answer, for key: IdempotencyKey) {
        kept[Scope(key)] = Kept(bodyHash: key.bodyHash, answer: answer)
        new.append((key, answer))
    }

    /// Writes the new answers. One that another daemon has written since these were read makes the transaction fail; on
    /// the next try it is read.
    var statements: [Query] {
        guard !new.isEmpty else { return [] }
        let keys = new.map(\.0)
        return forgetting + [
            """
            INSERT INTO idempotency_keys (api_key_id, method, path, key, body_sha256, status, answer)
            SELECT k.api_key_id, k.method, k.path, k.key, k.hash, \(status), k.answer::json
            FROM unnest(
                \(keys.map(\.apiKeyID)), \(keys.map(\.method)), \(keys.map(\.path)), \(keys.map(\.key)),
                \(keys.map(\.bodyHash)), \(new.map(\.1.json.text))
            ) AS k(api_key_id, method, path, key, hash, answer)
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

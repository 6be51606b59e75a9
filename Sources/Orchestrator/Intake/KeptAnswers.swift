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

    /// Reads the answers of the last 24 h that were given under these keys.
    static func read(
        _ keys: [IdempotencyKey],
        status: Int16 = 202,
        on connection: PostgresConnection
    ) async throws -> KeptAnswers {
        var answers = KeptAnswers(status: status)
        guard !keys.isEmpty else { return answers }
        let rows = try await connection.query(
            """
            SELECT i.api_key_id, i.method, i.path, i.key, i.body_sha256, i.answer::text
            FROM idempotency_keys AS i
            JOIN unnest(
                \(keys.map(\.apiKeyID)), \(keys.map(\.method)), \(keys.map(\.path)), \(keys.map(\.key))
            ) AS k(api_key_id, method, path, key) USING (api_key_id, method, path, key)
            WHERE i.created_at > clock_timestamp() - interval '24 hours'
            """
        )
        for (apiKeyID, method, path, key, hash, answer) in try rows.decoded(
            as: (String, String, String, String, [UInt8], String).self
        ) {
            let key = IdempotencyKey(apiKeyID: apiKeyID, method: method, path: path, key: key, bodyHash: hash)
            answers.kept[Scope(key)] = Kept(bodyHash: hash, answer: try Answer(json: JSONValue(parsing: answer)))
        }
        return answers
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

    private init(status: Int16) {
        self.status = status
    }

    /// Writes the new answers. A key that is older than 24 h is taken over.
    var statements: [Query] {
        guard !new.isEmpty else { return [] }
        let keys = new.map(\.0)
        return [
            """
            DELETE FROM idempotency_keys AS i
            USING unnest(\(keys.map(\.apiKeyID)), \(keys.map(\.method)), \(keys.map(\.path)), \(keys.map(\.key)))
                AS k(api_key_id, method, path, key)
            WHERE (i.api_key_id, i.method, i.path, i.key) = (k.api_key_id, k.method, k.path, k.key)
              AND i.created_at <= clock_timestamp() - interval '24 hours'
            """,
            """
            INSERT INTO idempotency_keys (api_key_id, method, path, key, body_sha256, status, answer)
            SELECT k.api_key_id, k.method, k.path, k.key, k.hash, \(status), k.answer::json
            FROM unnest(
                \(keys.map(\.apiKeyID)), \(keys.map(\.method)), \(keys.map(\.path)), \(keys.map(\.key)),
                \(keys.map(\.bodyHash)), \(new.map(\.1.json.text))
            ) AS k(api_key_id, method, path, key, hash, answer)
            """,
        ]
    }
}

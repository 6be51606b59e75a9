package import APITypes
import ActivityModel
import JSON
package import Postgres

/// How far a request has come that is carried out page by page, each page in a transaction of its own.
///
/// It is kept under the request's `Idempotency-Key`, in the transaction of each page. The same request again leaves out
/// the pages that it covers. The key is good for 24 hours from the last page on.
package struct KeptProgress<Answer: APIAnswer>: Sendable {
    /// The answer, if this was all.
    package var answer: Answer
    /// A hash of the body up to here.
    package let bodyHash: [UInt8]
    /// Whether the last page is stored.
    package let isComplete: Bool
    /// The activity whose audience the answer must still tell; nil: the answer is complete, or more pages come.
    package let uncounted: Int64?
    /// Whether the page that was asked for was stored before, by an earlier request with the key.
    package var isKept = false
    /// Whether the whole request was carried out before: this time it changed nothing.
    package var isReplay = false

    package init(answer: Answer, bodyHash: [UInt8], isComplete: Bool, uncounted: Int64?) {
        self.answer = answer
        self.bodyHash = bodyHash
        self.isComplete = isComplete
        self.uncounted = uncounted
    }

    /// The status of a row that more pages follow: 100 Continue. No answer has it.
    private static var continues: Int16 { 100 }

    /// What is kept for the key; nil for a new one, and for one that was used in a former app of the same id. Whoever
    /// may store the next page must hold a lock that others with the same key wait for.
    package static func read(_ key: IdempotencyKey, on connection: PostgresConnection) async throws -> KeptProgress? {
        let rows = try await connection.query(
            """
            SELECT body_sha256, status, answer, uncounted FROM idempotency_keys
            WHERE scope = \(key.scope) AND created_at > clock_timestamp() - interval '24 hours'
              AND created_at >= (SELECT p.created_at FROM apps AS p WHERE p.bundle_id = \(key.app.rawValue))
            """
        )
        guard let (hash, status, answer, uncounted) = try rows.first(as: ([UInt8], Int16, JSONText, Int64?).self) else {
            return nil
        }
        return KeptProgress(
            answer: try Answer(json: JSONValue.parse(answer.bytes)),
            bodyHash: hash,
            isComplete: status != continues,
            uncounted: uncounted
        )
    }

    /// Keeps this instead of what is kept for the key.
    package func keep(for key: IdempotencyKey, on connection: PostgresConnection) async throws {
        let status: Int16 = isComplete ? 202 : Self.continues
        _ = try await connection.query(
            """
            INSERT INTO idempotency_keys (scope, body_sha256, status, answer, created_at, uncounted)
            VALUES (\(key.scope), \(bodyHash), \(status), \(answer.json.text)::json, clock_timestamp(), \(uncounted))
            ON CONFLICT (scope) DO UPDATE
            SET body_sha256 = EXCLUDED.body_sha256, status = EXCLUDED.status, answer = EXCLUDED.answer,
                uncounted = EXCLUDED.uncounted, created_at = clock_timestamp()
            """
        )
    }
}

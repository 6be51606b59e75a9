import APITypes
import JSON
package import Postgres

extension KeptAnswers {
    /// The statement that completes the answer that is kept for a key without its counts. It changes no row if the answer
    /// has its counts already.
    package static func completion(_ answer: Answer, for key: IdempotencyKey) -> Query {
        """
        UPDATE idempotency_keys SET answer = \(answer.json.text)::json, uncounted = NULL
        WHERE scope = \(key.scope) AND uncounted IS NOT NULL
        """
    }
}

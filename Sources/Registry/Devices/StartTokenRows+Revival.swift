import Postgres

extension StartTokenRows {
    /// The part of a statement that revives the rejected start tokens in the rows of a table, at the end of a halt. It
    /// returns their columns `device_key` and `type_name`.
    package static func revival(of tokens: String) -> String {
        """
        UPDATE start_tokens AS t SET state = 'live' FROM \(tokens) AS r
        WHERE \(Query.byKey("t", "r", "device_key", "type_name")) AND t.state::text = 'rejected'
        RETURNING t.device_key, t.type_name
        """
    }
}

import LibPQ

extension Database {
    /// The configuration of the pool. All times are per attempt and limited.
    package struct Configuration: Sendable {
        /// The maximum number of connections; default 10, at least 1. The server's `max_connections` must allow as many
        /// for every daemon.
        package var maximumConnections = 10
        /// How long to wait for a connection, including a new one; default 5 s.
        package var acquireTimeout = Duration.seconds(5)
        /// The connect timeout of one address; default 3 s. A `connect_timeout` in the URL overrides it.
        package var connectTimeout = Duration.seconds(3)
        /// The timeout of a statement or pipeline, unless its caller sets one; default 30 s.
        package var statementTimeout = Duration.seconds(30)
        /// The server ends a transaction that is idle for this long; default 9 s, so that it ends within 10 s. This
        /// frees the locks and idempotency keys of a daemon that is paused or has no network. `nil` keeps the server's
        /// own setting.
        package var idleInTransactionTimeout: Duration? = .seconds(9)
        /// How long a connection may be idle before it is checked; default 30 s.
        package var keepAliveInterval = Duration.seconds(30)
        /// The longest pause between attempts to reach an unavailable server; default 2 s.
        package var maximumBackOff = Duration.seconds(2)
        /// Whether nobody waits for a server that refuses the role, the password or the database; default false. Only time
        /// mends that a server is away or starts.
        package var endsAtRefusal = false
        /// How long a shutdown waits for loans; default 10 s.
        package var shutdownTimeout = Duration.seconds(10)
        /// The maximum number of prepared statements per connection; default 500.
        package var statementCacheCapacity = 500
        /// Called for each request for a connection with the time until it was granted or refused.
        package var waited: (@Sendable (Duration) -> Void)?
        /// Shown in `pg_stat_activity`; default `tally`.
        package var applicationName = "tally"

        package init() {}

        /// The settings of each new connection.
        func sessionSettings(serverVersion: Int) -> [Statement] {
            // Every statement has a deadline here, and its caller knows what is unknown after it. A shorter limit, set for
            // the role, would refuse work that Tally waits for.
            var limits = ["statement_timeout", "lock_timeout"]
            if serverVersion >= 140_000 { limits.append("idle_session_timeout") }
            if serverVersion >= 170_000 { limits.append("transaction_timeout") }
            var settings: [(name: String, value: Duration)] = []
            if let idleInTransactionTimeout {
                settings.append(("idle_in_transaction_session_timeout", idleInTransactionTimeout))
            }
            // A cancel request that arrives before its statement has no effect. With this setting the server itself
            // notices that the client has disconnected. PostgreSQL supports it since version 14.
            if serverVersion >= 140_000 { settings.append(("client_connection_check_interval", .seconds(1))) }
            let times = settings.map { ($0.name, String(max(Int($0.value / .milliseconds(1)), 1))) }
            // Tally reads by key, or page by page in the order of an index. While a table is empty, the server would
            // plan to read all of it. It keeps such plans, also when the table has grown.
            // Parallel workers need shared memory, of which a container has little.
            let planning = [("enable_seqscan", "off"), ("jit", "off"), ("max_parallel_workers_per_gather", "0")]
            let unlimited = limits.map { ($0, "0") }
            return (unlimited + times + planning).map { name, value in
                let query: Query = "SELECT set_config(\(name), \(value), false)"
                return query.statement
            }
        }
    }

    /// Counts of the pool at one moment.
    package struct Statistics: Sendable, Hashable {
        /// Connections that exist or are being opened.
        package let connections: Int
        /// Connections that are ready and unused.
        package let idle: Int
        /// Callers that wait for a connection.
        package let waiting: Int
    }
}

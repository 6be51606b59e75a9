import LibPQ

extension Database {
    /// How the pool behaves. All times are per attempt and bounded.
    package struct Configuration: Sendable {
        /// Connections at most; default 10, at least 1. The server's `max_connections` must allow them for every
        /// daemon.
        package var maximumConnections = 10
        /// How long to wait for a connection, making one included; default 5 s.
        package var acquireTimeout = Duration.seconds(5)
        /// How long one address of a host may take to accept; default 3 s. A `connect_timeout` in the URL wins.
        package var connectTimeout = Duration.seconds(3)
        /// How long a statement or pipeline may take, unless its caller says otherwise; default 30 s.
        package var statementTimeout = Duration.seconds(30)
        /// After how long the server ends a transaction in which nothing happens; default 9 s, so that it is over
        /// within 10 s. It frees the locks, and the idempotency keys, of a daemon that was paused or has lost its
        /// network; nil leaves the server's own setting.
        package var idleInTransactionTimeout: Duration? = .seconds(9)
        /// How long a connection may rest before it is tried; default 30 s.
        package var keepAliveInterval = Duration.seconds(30)
        /// The longest pause between attempts to reach a server that is away; default 2 s.
        package var maximumBackOff = Duration.seconds(2)
        /// How long to wait for loans at shutdown; default 10 s.
        package var shutdownTimeout = Duration.seconds(10)
        /// Prepared statements kept per connection; default 500.
        package var statementCacheCapacity = 500
        /// Shown in `pg_stat_activity`; default `tally`.
        package var applicationName = "tally"

        package init() {}

        /// What is set on each new connection.
        func sessionSettings(serverVersion: Int) -> [Statement] {
            var settings: [(name: String, value: Duration)] = []
            if let idleInTransactionTimeout {
                settings.append(("idle_in_transaction_session_timeout", idleInTransactionTimeout))
            }
            // A request to cancel can overtake the statement that it is meant for, and is lost then. A server that
            // looks after its client finds that we have hung up. PostgreSQL knows this since version 14.
            if serverVersion >= 140_000 { settings.append(("client_connection_check_interval", .seconds(1))) }
            return settings.map { name, value in
                let milliseconds = String(max(Int(value / .milliseconds(1)), 1))
                let query: Query = "SELECT set_config(\(name), \(milliseconds), false)"
                return query.statement
            }
        }
    }

    /// A count of the pool at one moment.
    package struct Statistics: Sendable, Hashable {
        /// Connections that exist or are being made.
        package let connections: Int
        /// Of these, ready and unused.
        package let idle: Int
        /// Callers that wait for one.
        package let waiting: Int
    }
}

/// The addresses and limits of the HTTP API.
package struct HTTPServerConfiguration: Sendable {
    /// The name or address to listen on.
    package var host = "127.0.0.1"
    /// The port to listen on; 0: any free port.
    package var port = 8080
    /// An extra listener that takes only reports with tickets; nil: none.
    package var phonesListener: (host: String, port: Int)?
    /// An extra listener that serves `/metrics` without a key; nil: none.
    package var metricsListener: (host: String, port: Int)?
    /// The most bytes of a body (1 MiB). A longer one gets 413.
    package var maximumBodySize = 1 << 20
    /// The most bytes of all header fields together. Above it, the server answers 400 or 431 and closes the connection.
    package var maximumHeaderSize = 16 << 10
    /// The most requests and batch operations of one API key per second; nil: no limit.
    package var requestsPerSecond: Int?
    /// The most connections served at the same time. Further ones wait in the kernel's queue.
    package var maximumConnections = 10_000
    package var connectionTimes = ConnectionTimes()
    /// How long `/health/ready` answers 503 during a shutdown before the listeners close.
    package var drainDelay: Duration = .zero

    /// The defaults, except for what `change` sets.
    package init(_ change: (inout Self) -> Void = { _ in }) { change(&self) }
}

/// The timeouts after which the server closes a connection.
package struct ConnectionTimes: Sendable, Hashable {
    /// From the first byte of a request, or from the opening of the connection, to the end of the head.
    package var head: Duration
    /// From an answer to the first byte of the next request. It is longer than the idle timeouts of common proxies, so
    /// that they close first and send no request into a closing connection.
    package var idle: Duration
    /// From the head to the start of the answer, including the body.
    package var exchange: Duration

    package init(head: Duration = .seconds(30), idle: Duration = .seconds(90), exchange: Duration = .seconds(300)) {
        self.head = head
        self.idle = idle
        self.exchange = exchange
    }
}

/// An address on which the server listens now.
package struct ListeningAddress: Sendable, Hashable, CustomStringConvertible {
    /// The routes of a listener.
    package enum Purpose: Sendable, Hashable {
        case api
        case phones
        case metrics
    }

    package let purpose: Purpose
    /// The name or address from the configuration.
    package let host: String
    /// The actual port, even if the configuration says 0.
    package let port: Int

    package init(_ purpose: Purpose, host: String, port: Int) {
        self.purpose = purpose
        self.host = host
        self.port = port
    }

    /// `http://host:port`. An IPv6 address gets brackets.
    package var url: String {
        host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
    }

    package var description: String { url }
}

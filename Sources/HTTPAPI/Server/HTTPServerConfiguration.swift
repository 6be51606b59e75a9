/// Where the HTTP API listens, and what it puts up with.
package struct HTTPServerConfiguration: Sendable {
    /// The name or address to listen on.
    package var host: String
    /// The port to listen on; 0: any that is free.
    package var port: Int
    /// Where `/metrics` is served without a key, besides; nil: nowhere.
    package var metricsListener: (host: String, port: Int)?
    /// The most bytes of a body (1 MiB, else 413).
    package var maximumBodySize: Int
    /// The most bytes of all header fields together; beyond it the connection is closed with 400 or 431.
    package var maximumHeaderSize: Int
    /// How many requests, and operations of batches, one API key may make in a second; nil: as many as it likes.
    package var requestsPerSecond: Int?
    /// Connections served at the same time; more of them wait in the kernel's queue.
    package var maximumConnections: Int
    /// How long a connection may take over what.
    package var connectionTimes: ConnectionTimes
    /// So long `/health/ready` says 503 before no more connections are taken, when the daemon is told to stop.
    package var drainDelay: Duration

    package init(
        host: String = "127.0.0.1",
        port: Int = 8080,
        metricsListener: (host: String, port: Int)? = nil,
        maximumBodySize: Int = 1 << 20,
        maximumHeaderSize: Int = 16 << 10,
        requestsPerSecond: Int? = nil,
        maximumConnections: Int = 10_000,
        connectionTimes: ConnectionTimes = ConnectionTimes(),
        drainDelay: Duration = .zero
    ) {
        self.host = host
        self.port = port
        self.metricsListener = metricsListener
        self.maximumBodySize = maximumBodySize
        self.maximumHeaderSize = maximumHeaderSize
        self.requestsPerSecond = requestsPerSecond
        self.maximumConnections = maximumConnections
        self.connectionTimes = connectionTimes
        self.drainDelay = drainDelay
    }
}

/// How long a connection may take over what, before it is closed.
package struct ConnectionTimes: Sendable, Hashable {
    /// From the first byte of a request, or from the opening of the connection, to the end of the head.
    package var head: Duration
    /// From an answer to the first byte of the next request. Longer than the idle times of usual proxies, so that they
    /// close first and send no request into a connection that is just being closed.
    package var idle: Duration
    /// From the head to the beginning of the answer, the body included.
    package var exchange: Duration

    package init(head: Duration = .seconds(30), idle: Duration = .seconds(90), exchange: Duration = .seconds(300)) {
        self.head = head
        self.idle = idle
        self.exchange = exchange
    }
}

/// An address that the server listens on by now.
package struct ListeningAddress: Sendable, Hashable, CustomStringConvertible {
    /// What is served there.
    package enum Purpose: Sendable, Hashable {
        case api
        case metrics
    }

    /// What is served there.
    package let purpose: Purpose
    /// The name or address of the configuration.
    package let host: String
    /// The real port, also where any was asked for.
    package let port: Int

    package init(_ purpose: Purpose, host: String, port: Int) {
        self.purpose = purpose
        self.host = host
        self.port = port
    }

    /// `http://host:port`, with the brackets of an IPv6 address.
    package var url: String {
        host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
    }

    package var description: String { url }
}

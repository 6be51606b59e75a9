package import APITypes

/// A request for a page of the console, free of any HTTP library.
package struct ConsoleRequest: Sendable {
    /// `GET` or `POST`. An answer to `HEAD` is that to `GET` without its body.
    package var method: String
    /// The path as the browser sent it, which begins with `/console`.
    package var path: String
    /// What follows the `?`.
    package var query: String
    /// The header fields that the console reads.
    package var fields: Fields
    /// The body of a form.
    package var body: [UInt8]
    /// The address of the peer, for the limit on wrong keys. Empty if it is unknown.
    package var client: String
    /// When the request arrived.
    package var now: Instant

    /// Header fields.
    package struct Fields: Sendable {
        package var cookie: String?
        package var host: String?
        package var origin: String?
        /// `Sec-Fetch-Site`: where the browser says that the request came from.
        package var fetchSite: String?
        /// `X-Forwarded-Proto`: how the browser reached the proxy.
        package var forwardedProtocol: String?
        package var lastEventID: String?

        package init(
            cookie: String? = nil,
            host: String? = nil,
            origin: String? = nil,
            fetchSite: String? = nil,
            forwardedProtocol: String? = nil,
            lastEventID: String? = nil
        ) {
            self.cookie = cookie
            self.host = host
            self.origin = origin
            self.fetchSite = fetchSite
            self.forwardedProtocol = forwardedProtocol
            self.lastEventID = lastEventID
        }
    }

    package init(
        method: String,
        path: String,
        query: String = "",
        fields: Fields = Fields(),
        body: [UInt8] = [],
        client: String = "",
        now: Instant
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
        self.client = client
        self.now = now
    }

    /// The path and query.
    var address: String { query.isEmpty ? path : path + "?" + query }

    /// Whether the browser's connection is encrypted, as far as the daemon can tell.
    var isSecure: Bool { fields.forwardedProtocol?.lowercased() == "https" }

    /// Whether another site's page made the browser send this.
    ///
    /// `Sec-Fetch-Site` decides if there is one, because a proxy may change `Host`. Browsers send it over TLS and to
    /// this machine. Elsewhere, `Origin` decides.
    var isFromElsewhere: Bool {
        if let site = fields.fetchSite { return site != "same-origin" && site != "none" }
        guard let origin = fields.origin else { return false }
        let host = origin.split(separator: "/", omittingEmptySubsequences: true).last.map(String.init)
        return host != fields.host
    }

    /// The value of a cookie.
    func cookie(_ name: String) -> String? {
        for part in (fields.cookie ?? "").split(separator: ";") {
            let pair = part.split(separator: "=", maxSplits: 1)
            if pair.count == 2, pair[0].trimmed == name { return pair[1].trimmed }
        }
        return nil
    }
}

internal import HTTP2Engine

/// A cache of the header fields that left last. Pushes at the same time mostly differ only in path and body.
///
/// A push for a single phone has its own fields. Checking and copying them costs as much as the rest of its way to
/// HTTP/2. It belongs to the transport's loop.
struct RecentHeaders {
    /// Enough for the priorities and expiry times of some apps that push at the same time. A lookup compares each.
    static let capacity = 8

    private struct Entry {
        let head: RequestHead
        let token: ProviderToken
        let headers: SharedHeaders
    }

    /// The host, with the port unless it is 443.
    private let authority: String
    private var entries: [Entry] = []
    /// The index of the oldest entry, once the cache is full.
    private var oldest = 0

    init(authority: String) {
        self.authority = authority
    }

    /// The fields of requests with this head and token.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` for a field that is invalid in HTTP/2.
    mutating func headers(_ head: RequestHead, _ token: ProviderToken) throws(HTTP2Error) -> SharedHeaders {
        let isForMany = head.isForMany
        if isForMany, let entry = entries.first(where: { $0.head == head && $0.token == token }) {
            return entry.headers
        }
        let headers = try SharedHeaders(
            method: head.method,
            authority: authority,
            pathPrefix: head.path,
            fields: [HTTP2Header("authorization", token.authorization)] + head.fields
        )
        guard isForMany else { return headers }
        let entry = Entry(head: head, token: token, headers: headers)
        if entries.count < Self.capacity {
            entries.append(entry)
        } else {
            entries[oldest] = entry
            oldest = (oldest + 1) % Self.capacity
        }
        return headers
    }
}

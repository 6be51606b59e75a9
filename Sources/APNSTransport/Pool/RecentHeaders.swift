internal import HTTP2Engine

/// The header fields that left last, laid out: most pushes of a moment differ in path and body alone.
///
/// A push for a single phone has fields of its own, and to check and copy them costs as much as all the rest of its
/// way to HTTP/2. Belongs to the transport's loop.
struct RecentHeaders {
    /// Enough for the priorities and moments of expiry of some apps that push at the same time; each is compared.
    static let capacity = 8

    private struct Entry {
        let head: RequestHead
        let token: ProviderToken
        let headers: SharedHeaders
    }

    /// Host, with a port where it is not 443.
    private let authority: String
    private var entries: [Entry] = []
    /// The place of the oldest, once all are taken.
    private var oldest = 0

    init(authority: String) {
        self.authority = authority
    }

    /// The fields of requests with this head and token.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` for a field that cannot be written in HTTP/2.
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

package import APITypes
package import JSON

/// `PUT /certificate`: which certificate Apple shows.
package struct CertificateRequest: Sendable, Hashable {
    /// One that ended a day ago.
    package var expired: Bool

    package init(expired: Bool) {
        self.expired = expired
    }
}

extension CertificateRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let expired = reader.required("expired", .bool)
        guard reader.finish(), let expired else { return nil }
        self.init(expired: expired)
    }

    package var json: JSONValue { ["expired": .bool(expired)] }
}

package import APITypes
package import JSON

/// `PUT /certificate`: selects the certificate of the APNs listeners.
package struct CertificateRequest: Sendable, Hashable {
    /// Whether to use a certificate that expired a day ago.
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

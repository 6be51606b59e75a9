package import APITypes
import JSON

/// `PUT /certificate`: selects the certificate of the APNs listeners.
package struct CertificateRequest: Sendable, Hashable {
    /// Whether to use a certificate that expired a day ago.
    package var expired: Bool

    package init(expired: Bool) {
        self.expired = expired
    }
}

extension CertificateRequest: APIRequest, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("expired", .bool, \.expired)
    }
}

package import APITypes
import JSON

/// `PUT /certificate`: selects the certificate of the APNs listeners.
package struct CertificateRequest: Sendable, Hashable {
    /// Whether to use a certificate that expired a day ago.
    package var expired: Bool
}

extension CertificateRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("expired", \.expired, .bool),
        make: Self.init
    )
}

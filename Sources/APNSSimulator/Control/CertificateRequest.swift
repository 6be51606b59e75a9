package import APITypes
import JSON

/// `PUT /certificate`: which certificate Apple shows.
package struct CertificateRequest: Sendable, Hashable {
    /// One that ended a day ago.
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

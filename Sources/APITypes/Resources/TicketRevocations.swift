import JSON

/// `PUT …/users/{user_id}/tickets` and `PUT …/devices/{device_id}/tickets`: refuses signed tickets that were made before
/// a time.
package struct TicketRevocationRequest: Sendable, Hashable {
    /// Compared with the `iat` of a ticket.
    package var revokedBefore: Instant

    package init(revokedBefore: Instant) {
        self.revokedBefore = revokedBefore
    }
}

extension TicketRevocationRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("revoked_before", \.revokedBefore, .time),
        make: Self.init
    )
}

/// The answer: the time that holds now.
package struct TicketRevocation: Sendable, Hashable {
    /// The latest of all requests, because the time never goes back.
    package var revokedBefore: Instant

    package init(revokedBefore: Instant) {
        self.revokedBefore = revokedBefore
    }
}

extension TicketRevocation: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("revoked_before", \.revokedBefore, .time),
        make: Self.init
    )
}

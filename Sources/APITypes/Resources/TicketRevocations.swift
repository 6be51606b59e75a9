package import JSON

/// `PUT …/users/{user_id}/tickets` and `PUT …/devices/{device_id}/tickets`: refuses signed tickets that were made before
/// a time.
package struct TicketRevocationRequest: Sendable, Hashable {
    /// Compared with the `iat` of a ticket.
    package var revokedBefore: Instant

    package init(revokedBefore: Instant) {
        self.revokedBefore = revokedBefore
    }
}

extension TicketRevocationRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let revokedBefore = reader.required("revoked_before", .time)
        guard reader.finish(), let revokedBefore else { return nil }
        self.init(revokedBefore: revokedBefore)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("revoked_before", revokedBefore)
        return fields.json
    }
}

/// The answer: the time that holds now.
package struct TicketRevocation: Sendable, Hashable {
    /// The latest of all requests, because the time never goes back.
    package var revokedBefore: Instant

    package init(revokedBefore: Instant) {
        self.revokedBefore = revokedBefore
    }
}

extension TicketRevocation: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let revokedBefore = reader.required("revoked_before", .time)
        guard reader.finish(), let revokedBefore else { return nil }
        self.init(revokedBefore: revokedBefore)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("revoked_before", revokedBefore)
        return fields.json
    }
}

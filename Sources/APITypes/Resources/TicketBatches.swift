package import JSON

/// `POST …/registration-tickets/batch`: makes many tickets.
package struct TicketBatchRequest: Sendable, Hashable {
    /// The most tickets of one request.
    package static let maximumTickets = 1_000

    /// 1 to ``maximumTickets``.
    package var tickets: [RegistrationTicketRequest]

    package init(tickets: [RegistrationTicketRequest]) {
        self.tickets = tickets
    }
}

extension TicketBatchRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let tickets = reader.required("tickets", .list(of: .object(RegistrationTicketRequest.self)))
        if let tickets, !(1...Self.maximumTickets).contains(tickets.count) {
            reader.refuse(
                "tickets",
                code: FieldError.outOfRange,
                message: "1 to \(Self.maximumTickets) tickets are expected."
            )
        }
        guard reader.finish(), let tickets else { return nil }
        self.init(tickets: tickets)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("tickets", tickets)
        return fields.json
    }
}

/// The answer to many new tickets, 201.
package struct TicketBatchAnswer: Sendable, Hashable {
    /// In the order of the request.
    package var tickets: [RegistrationTicketAnswer]

    package init(tickets: [RegistrationTicketAnswer]) {
        self.tickets = tickets
    }
}

extension TicketBatchAnswer: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let tickets = reader.required("tickets", .list(of: .object(RegistrationTicketAnswer.self)))
        guard reader.finish(), let tickets else { return nil }
        self.init(tickets: tickets)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("tickets", tickets)
        return fields.json
    }
}

import JSON

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

extension TicketBatchRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required(
            "tickets",
            \.tickets,
            .list(of: .object(RegistrationTicketRequest.self), 1...Self.maximumTickets, "tickets")
        ),
        make: Self.init
    )
}

/// The answer to many new tickets, 201.
package struct TicketBatchAnswer: Sendable, Hashable {
    /// In the order of the request.
    package var tickets: [RegistrationTicketAnswer]

    package init(tickets: [RegistrationTicketAnswer]) {
        self.tickets = tickets
    }
}

extension TicketBatchAnswer: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("tickets", \.tickets, .list(of: .object(RegistrationTicketAnswer.self))),
        make: Self.init
    )
}

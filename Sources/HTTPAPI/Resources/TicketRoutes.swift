import APITypes
import ActivityModel
import HTTPTypes
import Orchestrator

extension Route {
    /// `…/registration-tickets`. `Idempotency-Key` has no effect here, because a ticket is not stored and cannot be
    /// repeated.
    static func tickets(_ service: any TallyService) -> [Route] {
        [
            Route(.post, "/v1/apps/{bundle_id}/registration-tickets", .scope(.register), body: true) { call in
                let app = try call.app()
                return .created(try await service.createTicket(app, call.request(RegistrationTicketRequest.self)))
            }
        ]
    }
}

extension TallyService {
    /// Checks that a ticket allows this report of a card, and returns the report.
    ///
    /// - Throws: 403 `ticket_forbidden`.
    func admit(
        _ report: SubscriptionRequest,
        by ticket: RegistrationTicket,
        for activity: ActivityID
    ) async throws -> SubscriptionRequest {
        let admitted = try ticket.admit(report)
        if ticket.activities == nil, !(try await isMeant(ticket, for: activity)) {
            throw Problem.ticketForbidden("The ticket is not for this activity.")
        }
        return admitted
    }
}

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

import APITypes
import HTTPTypes

extension Route {
    /// `…/pushes`: ordinary pushes of every type except Live Activities.
    static func pushes(_ intake: any IntakeService) -> [Route] {
        [
            Route(.post, "/v1/apps/{bundle_id}/pushes", .scope(.publish), body: true) { call in
                let app = try call.app()
                let key = try call.idempotencyKey()
                let request = try call.request(PushRequest.self)
                return .accepted(try await intake.push(app, request, idempotency: key))
            }
        ]
    }
}

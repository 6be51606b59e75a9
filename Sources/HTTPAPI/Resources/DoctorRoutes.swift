import APITypes
import HTTPTypes
import Registry
import ReportTypes

extension Route {
    /// `/v1/doctor`. A bound key gets only the checks of its app.
    static func doctor(_ service: any TallyService) -> [Route] {
        [
            Route(.post, "/v1/doctor", .scope(.operate), body: true) { call in
                var request = try call.request(DoctorRequest.self)
                let bound = call.principal?.app
                if let bound {
                    guard request.bundleID == nil || request.bundleID == bound else {
                        throw Problem.appForbidden("The key is bound to another app than 'bundle_id' names.")
                    }
                    request.bundleID = bound
                }
                return .ok(try await service.examine(request, installation: bound == nil))
            }
        ]
    }
}

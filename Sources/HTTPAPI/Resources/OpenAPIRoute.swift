import HTTPTypes
import NIOCore

extension Route {
    /// `/openapi.yaml`: what the API is, as `docs/openapi.yaml` has it.
    static let openAPI = Route(.get, "/openapi.yaml", .open) { _ in
        RouteAnswer(status: .ok, content: ("application/yaml", ByteBuffer(bytes: PackageResources.openapi_yaml)))
    }
}

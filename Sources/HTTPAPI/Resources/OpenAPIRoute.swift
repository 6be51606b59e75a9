import HTTPTypes
import NIOCore

extension Route {
    /// `/openapi.yaml`: the API description in `docs/openapi.yaml`.
    static let openAPI = Route(.get, "/openapi.yaml", .open) { _ in
        RouteAnswer(status: .ok, content: ("application/yaml", ByteBuffer(bytes: PackageResources.openapi_yaml)))
    }
}

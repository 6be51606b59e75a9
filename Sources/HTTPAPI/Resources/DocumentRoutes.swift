import APITypes
import HTTPTypes
import NIOCore

extension Route {
    /// The pages without a key: the API's document, its page for people, and a page about each error code.
    static let documents: [Route] = [
        Route(.get, "/openapi.yaml", .open) { _ in
            RouteAnswer(status: .ok, content: ("application/yaml", ByteBuffer(staticString: Documents.openapi_yaml)))
        },
        Route(.get, "/docs", .open) { _ in .page(ByteBuffer(staticString: Documents.reference_html)) },
        Route(.get, "/docs/style.css", .open) { _ in
            let style = ByteBuffer(staticString: Documents.style_css)
            return RouteAnswer(status: .ok, content: ("text/css; charset=utf-8", style))
        },
        Route(.get, "/docs/errors", .open) { _ in .page(ByteBuffer(string: ErrorPages.ofTheAPI.list)) },
        Route(.get, "/docs/errors/{code}", .open) { call in
            guard let page = ErrorPages.ofTheAPI.page(for: call.segments["code"] ?? "") else {
                throw Problem.notFound("the error code")
            }
            return .page(ByteBuffer(string: page))
        },
    ]
}

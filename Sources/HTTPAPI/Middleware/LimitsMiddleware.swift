import APITypes
import HTTPTypes
import Hummingbird

/// Refuses a body by its headers, before a byte of it is read and before a key is looked at.
struct LimitsMiddleware: RouterMiddleware {
    typealias Context = RouteContext

    /// The most bytes that a body may have.
    let maximumBodySize: Int

    func handle(
        _ request: Request,
        context: RouteContext,
        next: @concurrent (Request, RouteContext) async throws -> Response
    ) async throws -> Response {
        if let text = request.headers[.contentLength], let length = Int(text), length > maximumBodySize {
            throw Problem.bodyTooLarge(limit: maximumBodySize)
        }
        if context.route?.takesBody == true, Self.hasBody(request), !Self.isJSON(request.headers[.contentType]) {
            throw Problem.unsupportedMediaType()
        }
        return try await next(request, context)
    }

    private static func hasBody(_ request: Request) -> Bool {
        if let length = request.headers[.contentLength] { return length != "0" }
        return request.headers[.transferEncoding] != nil
    }

    /// `application/json`, with parameters or without; JSON is UTF-8 whatever they say (RFC 8259 §8.1).
    private static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        // What nearly all say, and 1 % of a post's price.
        if contentType == "application/json" { return true }
        let type = contentType.prefix { $0 != ";" }
        return type.filter { !$0.isWhitespace }.lowercased() == "application/json"
    }
}

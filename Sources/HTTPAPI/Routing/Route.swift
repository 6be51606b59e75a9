import HTTPTypes

/// One method of one path: its permission, its parameters and its handler.
struct Route: Sendable {
    /// Carries out a call. If it throws a `Problem`, that is the answer.
    typealias Handler = @Sendable (RouteCall) async throws -> RouteAnswer

    let method: HTTPRequest.Method
    /// The path with its variable segments in braces, such as `/v1/apps/{bundle_id}`. Metrics and logs show it as
    /// `route`.
    let path: String
    let access: Access
    /// The allowed query parameters. All others are refused.
    let query: Set<String>
    /// Whether the request has a JSON body.
    let takesBody: Bool
    /// Whether the request has a body of lines, each of them JSON. The handler reads it as it arrives. On a route that
    /// takes a JSON body as well, the content type tells which it is.
    let takesLines: Bool
    let handler: Handler

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ access: Access,
        query: Set<String> = [],
        body takesBody: Bool = false,
        lines takesLines: Bool = false,
        _ handler: @escaping Handler
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.query = query
        self.takesBody = takesBody
        self.takesLines = takesLines
        self.handler = handler
    }

    /// The same route for other callers.
    func limited(to access: Access) -> Route {
        Route(method, path, access, query: query, body: takesBody, lines: takesLines, handler)
    }

    /// The query parameters of every list.
    static let paging: Set<String> = ["limit", "cursor"]
}

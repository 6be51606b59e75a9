import HTTPTypes

/// One method of one path: what it demands, what it takes, what it does.
struct Route: Sendable {
    /// Carries out a call. A `Problem` that it throws is the answer.
    typealias Handler = @Sendable (RouteCall) async throws -> RouteAnswer

    let method: HTTPRequest.Method
    /// The path with its variable segments in braces, such as `/v1/apps/{bundle_id}`; also the `route` of metrics and
    /// logs.
    let path: String
    let access: Access
    /// The names of the query parameters that the route knows; any other is refused.
    let query: Set<String>
    /// Whether the call has a JSON body.
    let takesBody: Bool
    let handler: Handler

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ access: Access,
        query: Set<String> = [],
        body takesBody: Bool = false,
        _ handler: @escaping Handler
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.query = query
        self.takesBody = takesBody
        self.handler = handler
    }

    /// The query parameters of every list.
    static let paging: Set<String> = ["limit", "cursor"]
}

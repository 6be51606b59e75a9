import HTTPTypes
import Hummingbird

/// All routes, by path and method.
struct RouteTable: Sendable {
    let routes: [Route]
    private let byPath: [String: [HTTPRequest.Method: Route]]
    /// The segments of every path, for telling "no such path" from "not this method".
    private let paths: [(path: String, segments: [Substring])]

    init(_ routes: [Route]) {
        self.routes = routes
        var byPath: [String: [HTTPRequest.Method: Route]] = [:]
        for route in routes {
            byPath[route.path, default: [:]][route.method] = route
        }
        self.byPath = byPath
        paths = byPath.keys.sorted().map { (path: $0, segments: Self.segments(of: $0)) }
    }

    /// The route of a path in its braced form.
    func route(_ method: HTTPRequest.Method, path: String) -> Route? {
        byPath[path]?[method]
    }

    /// The methods that a request's path takes, in alphabetical order; empty for a path that does not exist. Where several
    /// match, it is the one with the fewest variable segments that is meant.
    func methods(forRequestPath requestPath: String) -> [String] {
        let wanted = Self.segments(of: requestPath)
        let matching = paths.filter { Self.matches($0.segments, wanted) }
        let meant = matching.min { Self.variables($0.segments) < Self.variables($1.segments) }
        return meant.map { (byPath[$0.path] ?? [:]).keys.map(\.rawValue).sorted() } ?? []
    }

    private static func variables(_ pattern: [Substring]) -> Int { pattern.count { $0.hasPrefix("{") } }

    private static func segments(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: true)
    }

    private static func matches(_ pattern: [Substring], _ path: [Substring]) -> Bool {
        pattern.count == path.count && zip(pattern, path).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }
}

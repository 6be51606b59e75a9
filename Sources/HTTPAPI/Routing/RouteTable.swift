import CoreMetrics
import HTTPTypes
import JSON

/// All routes, as a tree of path segments.
struct RouteTable: Sendable {
    let routes: [Route]
    private let root: Node
    private let unmatched: RequestMeter
    private let hidesTheRest: Bool

    /// - `metrics`: counts the requests of each route.
    /// - `hidesTheRest`: whether everything else is 404 for everybody, also other methods of the same paths.
    init(_ routes: [Route], metrics: any MetricsFactory, hidesTheRest: Bool = false) {
        self.hidesTheRest = hidesTheRest
        self.routes = routes
        root = Node(routes.map { ($0.path.pathSegments[...], Endpoint($0, metrics)) })
        // Uses one series, so that a method that a caller invents does not create its own.
        unmatched = RequestMeter(method: "other", route: MetricLabel.unmatched, metrics)
    }

    /// The result of looking up a path and method.
    struct Match: Sendable {
        /// Nil if the path does not exist or lacks this method.
        let route: Route?
        /// The values of the path's segments in braces.
        let segments: PathSegments
        /// The methods of the path, in alphabetical order; empty if the path does not exist.
        let methods: [String]
        /// Whether anybody gets an answer without a key.
        let isOpen: Bool
        let meter: RequestMeter
    }

    /// 404 for everybody.
    private var nothing: Match {
        Match(route: nil, segments: PathSegments(), methods: [], isOpen: true, meter: unmatched)
    }

    /// Looks up a path as the caller sent it. A literal segment wins over a segment in braces. `HEAD` uses the route of
    /// `GET`.
    func match(_ method: HTTPRequest.Method, path: String) -> Match {
        let segments = path.pathSegments
        // No id is empty, so such a path is a mistake, or a client removed `.` or `..`. The answer needs no key.
        guard !segments.contains("") else {
            return nothing
        }
        var values: [String] = []
        let endpoints = root.find(segments, from: 0, &values)?.endpoints ?? []
        let asked = method == .head ? .get : method
        guard let endpoint = endpoints.first(where: { $0.route.method == asked }) else {
            if hidesTheRest { return nothing }
            let methods = endpoints.flatMap { $0.route.method == .get ? ["GET", "HEAD"] : [$0.route.method.rawValue] }
            return Match(
                route: nil,
                segments: PathSegments(),
                methods: methods.sorted(),
                isOpen: !endpoints.isEmpty && endpoints.allSatisfy { $0.route.access == .open },
                meter: unmatched
            )
        }
        return Match(
            route: endpoint.route,
            segments: PathSegments(names: endpoint.names, encoded: values),
            methods: [],
            isOpen: endpoint.route.access == .open,
            meter: endpoint.meter
        )
    }
}

/// A route with its metrics.
private final class Endpoint: Sendable {
    let route: Route
    /// The names of the segments in braces, in order.
    let names: [String]
    let meter: RequestMeter

    init(_ route: Route, _ metrics: any MetricsFactory) {
        self.route = route
        names = route.path.pathSegments.filter(\.isBraced).map { String($0.dropFirst().dropLast()) }
        meter = RequestMeter(method: route.method.rawValue, route: route.path, metrics)
    }
}

/// One position in the tree of path segments.
private final class Node: Sendable {
    /// The routes whose path ends here, one for each method.
    let endpoints: [Endpoint]
    private let spelledOut: [(segment: String, node: Node)]
    private let braced: Node?

    /// - Parameter routes: the routes below this node, each with the rest of its path.
    init(_ routes: [(rest: ArraySlice<String>, endpoint: Endpoint)]) {
        var ending: [Endpoint] = []
        var behind: [String: [(rest: ArraySlice<String>, endpoint: Endpoint)]] = [:]
        for (rest, endpoint) in routes {
            guard let segment = rest.first else {
                ending.append(endpoint)
                continue
            }
            behind[segment.isBraced ? "{}" : segment, default: []].append((rest.dropFirst(), endpoint))
        }
        braced = behind.removeValue(forKey: "{}").map { Node($0) }
        endpoints = ending
        spelledOut = behind.map { (segment: $0.key, node: Node($0.value)) }
    }

    /// The node at the end of `path`. Adds the values of segments in braces to `values`. The segments before index
    /// `place` have led to this node.
    func find(_ path: [String], from place: Int, _ values: inout [String]) -> Node? {
        guard place < path.count else { return endpoints.isEmpty ? nil : self }
        for next in spelledOut where ExactText.equal(next.segment, path[place]) {
            if let found = next.node.find(path, from: place + 1, &values) { return found }
        }
        guard let braced else { return nil }
        values.append(path[place])
        if let found = braced.find(path, from: place + 1, &values) { return found }
        values.removeLast()
        return nil
    }
}

extension String {
    /// The text after each slash.
    fileprivate var pathSegments: [String] {
        let bytes = utf8.span
        var segments: [String] = []
        segments.reserveCapacity(8)
        var start = 0
        for end in 0...bytes.count where end == bytes.count || bytes[end] == UInt8(ascii: "/") {
            // The part before the first slash is empty.
            if end > 0 { segments.append(String(self[place(start)..<place(end)])) }
            start = end + 1
        }
        return segments
    }

    private func place(_ byte: Int) -> Index { utf8.index(startIndex, offsetBy: byte) }

    fileprivate var isBraced: Bool { utf8.first == UInt8(ascii: "{") }
}

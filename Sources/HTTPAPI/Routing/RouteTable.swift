import CoreMetrics
import HTTPTypes
import JSON

/// All routes, as a tree of path segments.
struct RouteTable: Sendable {
    let routes: [Route]
    private let root: Node
    private let unmatched: RequestMeter

    /// - `metrics`: where the requests of each route are counted.
    init(_ routes: [Route], metrics: any MetricsFactory) {
        self.routes = routes
        root = Node(routes.map { ($0.path.pathSegments[...], Endpoint($0, metrics)) })
        // A method of the caller's invention must not become a series of its own.
        unmatched = RequestMeter(method: "other", route: MetricLabel.unmatched, metrics)
    }

    /// What a request leads to.
    struct Match: Sendable {
        /// Nil where the path leads nowhere, or not with this method.
        let route: Route?
        /// The braced segments of the path.
        let segments: PathSegments
        /// The methods that the path takes, in alphabetical order; empty for a path that does not exist.
        let methods: [String]
        /// Whether nobody needs a key to be answered.
        let isOpen: Bool
        let meter: RequestMeter
    }

    /// Follows a path as it was sent. Where several routes match, a segment that is spelled out goes before a braced
    /// one. `HEAD` leads where `GET` does.
    func match(_ method: HTTPRequest.Method, path: String) -> Match {
        let segments = path.pathSegments
        // No id is empty: such a path is a slip, or what a client made of `.` and `..`. Nobody needs a key to hear it.
        guard !segments.contains("") else {
            return Match(route: nil, segments: PathSegments(), methods: [], isOpen: true, meter: unmatched)
        }
        var values: [String] = []
        let endpoints = root.find(segments, from: 0, &values)?.endpoints ?? []
        let asked = method == .head ? .get : method
        guard let endpoint = endpoints.first(where: { $0.route.method == asked }) else {
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

/// A route, and what is measured of it.
private final class Endpoint: Sendable {
    let route: Route
    /// The names of the braced segments, in their order.
    let names: [String]
    let meter: RequestMeter

    init(_ route: Route, _ metrics: any MetricsFactory) {
        self.route = route
        names = route.path.pathSegments.filter(\.isBraced).map { String($0.dropFirst().dropLast()) }
        meter = RequestMeter(method: route.method.rawValue, route: route.path, metrics)
    }
}

/// Where a path may go on.
private final class Node: Sendable {
    /// Of paths that end here, one for each method.
    let endpoints: [Endpoint]
    private let spelledOut: [(segment: String, node: Node)]
    private let braced: Node?

    /// - Parameter routes: with what of their paths lies behind this node.
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

    /// The node at the end of a path, of which the segments before `place` led here, and the values of the braced
    /// segments on the way to it.
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
    /// What is behind each slash.
    fileprivate var pathSegments: [String] {
        let bytes = utf8.span
        var segments: [String] = []
        segments.reserveCapacity(8)
        var start = 0
        for end in 0...bytes.count where end == bytes.count || bytes[end] == UInt8(ascii: "/") {
            // Before the first slash there is nothing.
            if end > 0 { segments.append(String(self[place(start)..<place(end)])) }
            start = end + 1
        }
        return segments
    }

    private func place(_ byte: Int) -> Index { utf8.index(startIndex, offsetBy: byte) }

    fileprivate var isBraced: Bool { utf8.first == UInt8(ascii: "{") }
}

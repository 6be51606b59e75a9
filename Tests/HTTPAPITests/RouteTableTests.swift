import APITypes
import HTTPTypes
import Testing

@testable import HTTPAPI

/// Which route a path leads to.
@Suite("Route table")
struct RouteTableTests {
    private static let table = RouteTable(
        [
            route(.get, "/a"), route(.get, "/a/{x}"), route(.put, "/a/{x}"), route(.get, "/a/{x}/b/{y}"),
            route(.post, "/a/own"), route(.get, "/a/own/c"), route(.get, "/{x}/{y}/d"),
        ],
        metrics: PrometheusMetrics()
    )

    @Test(
        "A path leads to the route that spells out most of it, with the values of the braced segments",
        arguments: [
            ("/a", "/a", []),
            ("/a/1/b/2", "/a/{x}/b/{y}", ["x=1", "y=2"]),
            ("/a/%C3%A9", "/a/{x}", ["x=é"]),
            // Nothing but a braced segment is decoded before it is compared.
            ("/a/%6Fwn", "/a/{x}", ["x=own"]),
            ("/a/own/c", "/a/own/c", []),
            // The segment of its own leads nowhere, the braced one does.
            ("/a/own/b/2", "/a/{x}/b/{y}", ["x=own", "y=2"]),
            // Behind the braced one there is nothing either: its value is taken back.
            ("/a/1/d", "/{x}/{y}/d", ["x=a", "y=1"]),
        ] as [(String, String, [String])]
    )
    func found(path: String, route: String, values: [String]) {
        let match = Self.table.match(.get, path: path)
        #expect(match.route?.path == route)
        let found = ["x", "y"].compactMap { name in match.segments[name].map { "\(name)=\($0)" } }
        #expect(found == values)
        #expect(match.methods.isEmpty)
    }

    @Test(
        "A path that leads nowhere takes no method; one that takes others says which",
        arguments: [
            ("/", []), ("/b", []), ("/a/1/b", []), ("/a/1/b/2/c", []), ("/A", []),
            ("/a", ["GET", "HEAD"]), ("/a/1", ["GET", "HEAD", "PUT"]), ("/a/own", ["POST"]),
            ("", []), ("*", []), ("/a/", []), ("//a", []), ("/a//1", []), ("/a/1/", []), ("/a//", []),
        ] as [(String, [String])]
    )
    func notFound(path: String, methods: [String]) {
        let match = Self.table.match(.delete, path: path)
        #expect(match.route == nil)
        #expect(match.methods == methods)
    }

    @Test("HEAD leads where GET does, and nowhere else")
    func head() {
        #expect(Self.table.match(.head, path: "/a/1").route?.path == "/a/{x}")
        #expect(Self.table.match(.head, path: "/a/own").route == nil)
    }

    @Test("A value that is not percent-encoded UTF-8 is none, and is named", arguments: ["%zz", "%", "%FF"])
    func undecodable(value: String) throws {
        let match = Self.table.match(.get, path: "/a/\(value)")
        #expect(match.segments["x"] == nil)
        #expect(match.segments.contains("x"))
        let problem = #expect(throws: Problem.self) { try match.segments.check() }
        #expect(problem?.detail.contains("'x'") == true)
    }

    private static func route(_ method: HTTPRequest.Method, _ path: String) -> Route {
        Route(method, path, .open) { _ in .noContent }
    }
}

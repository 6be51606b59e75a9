import APITypes

/// The percent-decoded values of a path's segments in braces.
struct PathSegments: Sendable {
    /// A value that is not percent-encoded UTF-8 is nil.
    private let values: [(name: String, value: String?)]

    init() {
        values = []
    }

    /// - Parameters:
    ///   - names: the names in the route's path, in order.
    ///   - encoded: the values as the caller sent them.
    init(names: [String], encoded: [String]) {
        values = zip(names, encoded).map { (name: $0, value: PercentEncoding.decode($1)) }
    }

    /// Nil if the path has no such segment, or if its value is not percent-encoded UTF-8.
    subscript(name: String) -> String? {
        values.first { $0.name == name }?.value
    }

    /// Whether the route's path has a segment of that name, whatever its value.
    func contains(_ name: String) -> Bool {
        values.contains { $0.name == name }
    }

    /// The path of a route with these values, spelled as ``APIPath`` spells it. They must be those of the route.
    func path(of route: String) -> String {
        var path = ""
        for segment in route.split(separator: "/") {
            path += "/"
            if segment.utf8.first == UInt8(ascii: "{") {
                path += PercentEncoding.encode(self[String(segment.dropFirst().dropLast())] ?? "")
            } else {
                path += segment
            }
        }
        return path
    }

    /// - Throws: 422 if a segment is not percent-encoded UTF-8.
    func check() throws(Problem) {
        if let wrong = values.first(where: { $0.value == nil }) {
            throw Problem.invalidRequest("'\(wrong.name)' in the path is not percent-encoded UTF-8.")
        }
    }
}

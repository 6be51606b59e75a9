import APITypes

/// The values of the braced segments of a path, percent-decoded.
struct PathSegments: Sendable {
    /// A value that is not percent-encoded UTF-8 is nil.
    private let values: [(name: String, value: String?)]

    init() {
        values = []
    }

    /// - Parameters:
    ///   - names: as in the route's path, in their order.
    ///   - encoded: as they were sent.
    init(names: [String], encoded: [String]) {
        values = zip(names, encoded).map { (name: $0, value: PercentEncoding.decode($1)) }
    }

    /// Nil if there is none, or if it is not percent-encoded UTF-8.
    subscript(name: String) -> String? {
        values.first { $0.name == name }?.value
    }

    /// Whether the path has a segment of that name, whatever its value.
    func contains(_ name: String) -> Bool {
        values.contains { $0.name == name }
    }

    /// - Throws: 422 for a segment that is not percent-encoded UTF-8.
    func check() throws(Problem) {
        if let wrong = values.first(where: { $0.value == nil }) {
            throw Problem.invalidRequest("'\(wrong.name)' in the path is not percent-encoded UTF-8.")
        }
    }
}

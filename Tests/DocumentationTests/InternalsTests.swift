import Foundation
import Testing

/// Whoever opens the code beside the pages about it finds what they name.
@Suite("The pages about the code")
struct InternalsTests {
    private static let pages = ["architecture", "one-change", "parts", "sending"].map { "docs/internals/\($0).md" }

    /// The Swift files of these folders, joined.
    private static func sources(of folders: [String]) throws -> String {
        try folders.flatMap { Document.files(in: $0, ending: ".swift") }
            .map { try Document(path: $0).text() }.joined(separator: "\n")
    }

    /// The types, protocols and targets of the package.
    private static let known = Result {
        let declarations = try sources(of: ["Sources", "Tests"])
            .matches(of: /(?:struct|class|enum|protocol|actor|extension|typealias) ([A-Z]\w+)/).map {
                String($0.output.1)
            }
        var known = Set(declarations)
        for file in Document.files(in: "Sources", ending: ".swift") + Document.files(in: "Tests", ending: ".swift") {
            known.formUnion(file.split(separator: "/").map { String($0) })
        }
        return known.union(["Codable", "Schema"])
    }

    @Test("Every type and target that is named exists", arguments: pages)
    func names(page: String) throws {
        let known = try Self.known.get()
        let named = try Document(path: page).text().matches(of: /`([A-Z][a-z]+[A-Za-z0-9]+)`/).map {
            String($0.output.1)
        }
        #expect(named.count > 10)
        for name in Set(named) where !known.contains(name) {
            Issue.record("\(page) names \(name)")
        }
    }

    @Test("One change: each file is there, under its own name or that of a type in it")
    func oneChange() throws {
        let page = try Document(path: "docs/internals/one-change.md").text()
        let stops = page.matches(of: /\| \[([A-Za-z+]+)\]\(\.\.\/\.\.\/([A-Za-z0-9\/+.]+)\) \|/)
        #expect(stops.count == 16)
        for stop in stops {
            let (name, path) = (String(stop.output.1), String(stop.output.2))
            let text = try Document(path: path).text()
            #expect(path.hasSuffix("/\(name).swift") || text.contains("extension \(name) {"), "\(path)")
        }
    }

    @Test("The first file of each room says which tables it writes, and the room has tests of its name")
    func rooms() throws {
        let page = try Document(path: "docs/internals/architecture.md").text()
        let rooms = page.matches(of: /\| `([A-Z][A-Za-z]+)` \|[^|]+\| `([A-Za-z]+\.swift)` \|/)
        #expect(rooms.count == 12)
        for room in rooms {
            let text = try Document(path: "Sources/\(room.output.1)/\(room.output.2)").text()
            #expect(text.contains(/\*\*Tables that it alone writes\.\*\*|It writes nothing/), "\(room.output.1)")
            let tests = ["Cards", "DeliveryStore"].contains(room.output.1) ? "DeliveryTests" : "\(room.output.1)Tests"
            #expect(!Document.files(in: "Tests/\(tests)", ending: ".swift").isEmpty, "\(tests)")
        }
    }
}

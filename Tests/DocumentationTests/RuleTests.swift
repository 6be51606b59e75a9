import Foundation
import Testing

/// Whoever reads a rule in the documents finds the suite that proves it, in `docs/internals/testing.md`.
@Suite("The suites that prove the rules")
struct RuleTests {
    private static let page = Document(path: "docs/internals/testing.md")

    private struct Row {
        let rule: String
        let suites: String
    }

    /// The rows of the table whose first heading this is.
    private static func rows(under heading: String) throws -> [Row] {
        let lines = try page.text().components(separatedBy: "\n")
        guard let head = lines.firstIndex(of: "| \(heading) | suites |") else { return [] }
        return lines[head...].dropFirst(2).prefix { $0.hasPrefix("| ") }.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return Row(rule: cells[0], suites: cells[1])
        }
    }

    /// `Module.Suite`, as `swift test --filter` takes it.
    private static func suites(in text: String) -> [(module: String, suite: String)] {
        text.matches(of: /`([A-Za-z0-9]+Tests)\.([A-Z][A-Za-z0-9]+)`/)
            .map { (String($0.output.1), String($0.output.2)) }
    }

    private static func isThere(_ suite: String, in module: String) throws -> Bool {
        try Document.files(in: "Tests/\(module)", ending: ".swift").contains { file in
            try Document(path: file).text().contains("struct \(suite) {")
        }
    }

    @Test("every promise of the guarantee names its suites")
    func promises() throws {
        let promises = try Document(path: "docs/concepts/guarantee.md").tableRows()
            .compactMap { $0.first }.filter { $0.hasPrefix("**") }.map { $0.replacing("*", with: "") }
        let rows = try Self.rows(under: "promise")
        #expect(promises.count == 10)
        #expect(rows.map(\.rule) == promises)
        for row in rows { #expect(!Self.suites(in: row.suites).isEmpty, "\(row.rule)") }
    }

    @Test("every page of rules is named")
    func pages() throws {
        let pages = ["docs/concepts", "docs/reference"].flatMap { Document.files(in: $0, ending: ".md") }
        let named = try Self.rows(under: "page").map { row in
            row.rule.firstMatch(of: /\[([a-z\/.-]+)\]/).map { "docs/\($0.output.1)" } ?? row.rule
        }
        #expect(pages.count > 15)
        #expect(named == pages)
    }

    @Test("every suite that is named exists", arguments: ["docs/internals/testing.md", "CONTRIBUTING.md"])
    func suites(page: String) throws {
        let suites = Self.suites(in: try Document(path: page).text())
        #expect(!suites.isEmpty)
        for (module, suite) in suites {
            let isThere = try Self.isThere(suite, in: module)
            #expect(isThere, "\(module).\(suite)")
        }
    }

    @Test("every suite of the guide for a change exists")
    func guide() throws {
        let files = Document.files(in: "Tests", ending: ".swift")
        let texts = try files.map { try Document(path: $0).text() }
        let rows = try Document(path: "CONTRIBUTING.md").tableRows()
        var count = 0
        for row in rows where row.count == 4 {
            for name in row[3].matches(of: /`([A-Za-z0-9]+Tests)`/).map({ String($0.output.1) }) {
                count += 1
                let isTarget = files.contains { $0.hasPrefix("Tests/\(name)/") }
                #expect(isTarget || texts.contains { $0.contains("struct \(name) {") }, "\(name)")
            }
        }
        #expect(count > 40)
    }
}

import Foundation
import Testing

/// The threat model is what tests try, line by line.
@Suite("The threat model")
struct ThreatModelTests {
    /// `Module.Suite/function`, as `swift test --filter` takes it.
    private struct Name {
        let module: String
        let suite: String
        let function: String
    }

    private static func names(in text: String) -> [Name] {
        text.matches(of: /`([A-Za-z0-9]+)\.([A-Za-z0-9]+)\/([A-Za-z0-9]+)`/).map {
            Name(module: String($0.output.1), suite: String($0.output.2), function: String($0.output.3))
        }
    }

    @Test("every attack and every secret names what tries it")
    func lines() throws {
        let rows = try Document(path: "docs/internals/threat-model.md").tableRows()
        var isTried = false
        var count = 0
        for row in rows {
            if row.last == "tried by" || row.last == "worst case" {
                isTried = row.last == "tried by"
                continue
            }
            guard isTried, row.first?.allSatisfy({ $0 == "-" }) == false else { continue }
            count += 1
            #expect(row.count == 3, "\(row)")
            #expect(!Self.names(in: row.last ?? "").isEmpty, "\(row.first ?? "")")
        }
        #expect(count > 40)
    }

    @Test("every test that it names exists, and is a test")
    func tests() throws {
        let names = Self.names(in: try Document(path: "docs/internals/threat-model.md").text())
        #expect(names.count > 70)
        var texts: [String: [String]] = [:]
        for name in names {
            if texts[name.module] == nil {
                texts[name.module] = try Document.files(in: "Tests/\(name.module)", ending: ".swift")
                    .map { try Document(path: $0).text() }
            }
            let isThere = (texts[name.module] ?? []).contains { text in
                text.contains("struct \(name.suite) {")
                    && Self.tests(in: text).contains(name.function)
            }
            #expect(isThere, "\(name.module).\(name.suite)/\(name.function)")
        }
    }

    /// The functions that stand behind a `@Test`.
    private static func tests(in text: String) -> Set<String> {
        var names: Set<String> = []
        for part in text.components(separatedBy: "@Test").dropFirst() {
            guard let name = part.firstMatch(of: /\n    func ([A-Za-z0-9]+)\(/) else { continue }
            names.insert(String(name.output.1))
        }
        return names
    }
}

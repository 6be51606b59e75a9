import Foundation
import Testing

/// A new engine brings new tables, and the tests are to stay: they ask `World` and `EngineTables`.
@Suite("The engine's tables in the tests")
struct EngineTablesTests {
    /// The engine's own tests, and what answers for it.
    private static let own = [
        "Tests/DeliveryTests/", "Tests/OrchestratorTestSupport/", "Tests/OrchestratorTests/Upgrade/",
        "Tests/OwnershipTests/", "Tests/SystemSupport/", "Tests/TestSupport/Database/EngineTables",
    ]

    @Test("No test outside the engine's own names one")
    func names() throws {
        let tables = try Document(path: "schema/V0004_delivery.sql").text()
            .matches(of: /CREATE (?:UNLOGGED )?TABLE (\w+)/).map { String($0.output.1) }
        #expect(tables.count > 5)
        let use = try Regex("(FROM|JOIN|UPDATE|INTO|TABLE|LOCK) +(\(tables.joined(separator: "|")))\\b")
        let files = Document.files(in: "Tests", ending: ".swift")
        #expect(try files.contains { try $0.hasPrefix(Self.own[1]) && Document(path: $0).text().contains(use) })
        for file in files where !Self.own.contains(where: file.hasPrefix) {
            let isNamed = try Document(path: file).text().contains(use)
            #expect(!isNamed, "\(file) names a table")
        }
    }
}

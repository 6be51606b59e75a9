import Foundation
import JSON
import JSONSchema
import Testing

/// The JSON-Schema-Test-Suite as its authors publish it, with the documents that its references lead to.
@Suite(
    "The official suite for draft 2020-12",
    .enabled(if: OfficialSuite.folder != nil, "TALLY_JSON_SCHEMA_SUITE names no folder; tools/test fetches the suite")
)
struct OfficialSuiteTests {
    @Test("Every required test passes")
    func required() throws {
        let suite = try OfficialSuite()
        var score = OfficialSuite.Score()
        for file in try suite.files(in: "tests/draft2020-12") { try suite.run(file, suite.options, &score) }
        print("JSON-Schema-Test-Suite, draft 2020-12, required: \(score.passed) of \(score.total)")
        #expect(score.failures == [])
        #expect(score.total > 1_200)
    }

    @Test("Every test of a format that is asserted on request passes")
    func formats() throws {
        let suite = try OfficialSuite()
        var options = suite.options
        options.formats = .assert
        var score = OfficialSuite.Score()
        for name in ["date-time", "date", "time", "uuid", "uri", "email", "ipv4", "ipv6", "regex", "ecmascript-regex"] {
            let file = suite.folder.appendingPathComponent("tests/draft2020-12/optional/format/\(name).json")
            try suite.run(file, options, &score)
        }
        print("JSON-Schema-Test-Suite, draft 2020-12, asserted formats: \(score.passed) of \(score.total)")
        #expect(score.failures == [])
    }

    @Test("No optional test is left out but for a reason")
    func optionalNames() throws {
        let suite = try OfficialSuite()
        let files = try suite.files(in: "tests/draft2020-12/optional")
        let names = Set(files.map { $0.deletingPathExtension().lastPathComponent })
        #expect(names == OfficialSuite.contradicting.union(OfficialSuite.optional))
    }

    @Test(
        "Every optional test that does not contradict what is promised here passes",
        arguments: OfficialSuite.optional
    )
    func optional(name: String) throws {
        let suite = try OfficialSuite()
        var score = OfficialSuite.Score()
        let file = suite.folder.appendingPathComponent("tests/draft2020-12/optional/\(name).json")
        try suite.run(file, suite.options, &score)
        #expect(score.failures == [])
        #expect(score.total > 0)
    }
}

/// The folder of the suite, and how it is run.
private struct OfficialSuite {
    struct Score {
        var total = 0
        var failures: [String] = []
        var passed: Int { total - failures.count }
    }

    static let folder = ProcessInfo.processInfo.environment["TALLY_JSON_SCHEMA_SUITE"].map(URL.init(fileURLWithPath:))

    static let optional = [
        "anchor", "bignum", "dynamicRef", "ecmascript-regex", "float-overflow", "format-assertion", "id", "no-schema",
        "non-bmp-regex", "unknownKeyword",
    ]

    /// Those that are left out: drafts before 2020-12 are no dialect here, and their keywords no keywords; what stands
    /// behind an unknown keyword is no schema that a reference may lead to.
    static let contradicting: Set<String> = [
        "cross-draft", "dependencies-compatibility", "refOfUnknownKeyword",
    ]

    let folder: URL
    /// As the specification has it, with the documents of `remotes` where the suite wants them.
    let options: SchemaOptions

    init() throws {
        folder = try #require(Self.folder)
        var options = SchemaOptions()
        options.unknownKeywords = .ignore
        let remotes = folder.appendingPathComponent("remotes")
        for case let path as String in try #require(FileManager.default.enumerator(atPath: remotes.path)) {
            guard path.hasSuffix(".json") else { continue }
            let document = try Self.read(remotes.appendingPathComponent(path))
            options.documents["http://localhost:1234/" + path] = document
        }
        self.options = options
    }

    func files(in path: String) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: folder.appendingPathComponent(path),
            includingPropertiesForKeys: nil
        )
        .filter { $0.pathExtension == "json" }
        .sorted { $0.path < $1.path }
    }

    func run(_ file: URL, _ options: SchemaOptions, _ score: inout Score) throws {
        for group in try #require(try Self.read(file).array) {
            let tests = try #require(group["tests"]?.array)
            score.total += tests.count
            let name = "\(file.lastPathComponent): \(group["description"]?.string ?? "")"
            do {
                let schema = try CompiledSchema(try #require(group["schema"]), options: options)
                for test in tests {
                    let data = try #require(test["data"])
                    // The two ways to look at a value must agree.
                    let isRight =
                        schema.isValid(data) == test["valid"]?.bool
                        && schema.validate(data).isEmpty == test["valid"]?.bool
                    if !isRight { score.failures.append("\(name): \(test["description"]?.string ?? "")") }
                }
            } catch let error as SchemaError {
                score.failures += tests.map { _ in "\(name): \(error.message)" }
            }
        }
    }

    private static func read(_ file: URL) throws -> JSONValue { try JSONValue.parse(Array(Data(contentsOf: file))) }
}

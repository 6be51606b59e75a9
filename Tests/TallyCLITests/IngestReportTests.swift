import APITypes
import Foundation
import JSON
import Testing

@testable import tally

@Suite("tally ingest")
struct IngestReportTests {
    private static let accepted = BatchResult(status: 202, body: ["activity_id": "a", "revision": 2])

    @Test("A refusal takes the place of the line that shows the progress; foreign text in it controls nothing")
    func overProgress() {
        #expect(Terminal.overLine("line 1: 422\r") == "\r\u{1B}[Kline 1: 422\\u000d")
    }

    @Test("The report counts lines, names refused ones by their number in the file, and says what is wrong with them")
    func report() throws {
        var report = IngestReport()
        let first = report.add(Self.accepted)
        #expect(first == nil)
        let second = report.add(BatchResult(Problem.notFound("the activity")))
        #expect(second == "line 2: 404 not_found: The activity does not exist.")
        let errors = [FieldError(pointer: .init(tokens: ["content_state"]), code: "missing", message: "It is missing.")]
        let said = report.add(BatchResult(Problem.invalidRequest(errors)))
        let refusal = try #require(said)
        #expect(refusal.hasPrefix("line 3: 422 invalid_request: "))
        #expect(refusal.hasSuffix("\n  '/content_state': It is missing."))
        #expect(report.text == "1 accepted, 2 refused")
        #expect(report.numbered(BatchResult(status: 404, body: ["line": 1])).body["line"] == 3)
        #expect(report.numbered(Self.accepted) == Self.accepted)
    }

    @Test("A line gets a key if it has none, and keeps everything else as it is")
    func keys() {
        func keyed(_ line: String) -> String {
            String(decoding: IngestReport.keyed(Array(line.utf8), "k"), as: UTF8.self)
        }
        #expect(
            keyed(#"{"op":"end","id":"a","body":{"x":1.50}}"#)
                == #"{"op":"end","id":"a","body":{"x":1.50},"idempotency_key":"k"}"#
        )
        for line in [#"{ "idempotency_key": "own" }"#, "{", "7", ""] { #expect(keyed(line) == line) }
    }

    @Test("A file is read line by line, whatever ends them")
    func file() async throws {
        let long = String(repeating: "x", count: 200_000)
        let expected = ["first", "", "second", long, "ü", "last"]
        let folder = FileManager.default.temporaryDirectory
        let url = folder.appending(path: "tally-ingest-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        try Data("first\n\nsecond\r\n\(long)\nü\nlast".utf8).write(to: url)
        var lines: [String] = []
        for try await line in try LineFile(path: url.path) { lines.append(String(decoding: line, as: UTF8.self)) }
        #expect(lines == expected)
        #expect(throws: UsageError.self) { try LineFile(path: url.path + "-none") }
    }
}

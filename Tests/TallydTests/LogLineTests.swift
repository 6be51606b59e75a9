import APITypes
import JSON
import Logging
import Testing

@testable import tallyd

@Suite("Lines of the log")
struct LogLineTests {
    private static let line = line(message: "request failed", ["request.id": "r1", "error": "no answer"])

    private static func line(message: String, _ metadata: Logger.Metadata) -> LogLine {
        LogLine(time: Instant(unixSeconds: 0), level: .warning, label: "tallyd", message: message, metadata: metadata)
    }

    @Test("A line tells the time, the level, who, and what, with the metadata in order")
    func forms() throws {
        #expect(Self.line.text == "1970-01-01T00:00:00Z warning tallyd: error=no answer request.id=r1 request failed")
        let object = try #require(try JSONValue(parsing: Self.line.json).object)
        #expect(object.keys == ["time", "level", "logger", "message", "error", "request.id"])
        #expect(object["error"] == "no answer")
    }

    @Test("Metadata cannot take the place of what a line says by itself")
    func names() throws {
        let line = Self.line(message: "real", ["message": "forged", "level": "info"])
        let object = try #require(try JSONValue(parsing: line.json).object)
        #expect(object["message"] == "real")
        #expect(object["level"] == "warning")
    }

    @Test(
        "A line stays one line that does nothing to a terminal, whatever stands in it",
        arguments: [
            "a\nERROR forged", "a\r\nb", "a\u{1B}[2J\u{1B}]0;title\u{7}", "a\u{9B}31mb", "a\u{2028}b\u{2029}c",
            "a\u{85}b", "a\u{0}b", "a\u{202E}b\u{2066}c", "a\u{7F}\u{8}b", "a\u{B}\u{C}b",
        ]
    )
    func injection(text: String) throws {
        for line in [Self.line(message: text, ["error": "\(text)"]), Self.line(message: "m", ["\(text)": "v"])] {
            for form in [line.text, line.json] {
                #expect(form.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "\(form)")
                #expect(form.split(whereSeparator: \.isNewline).count == 1)
                #expect(!form.unicodeScalars.contains { (0x2028...0x202E).contains($0.value) || $0.value == 0x2066 })
            }
            #expect(try JSONValue(parsing: line.json).object?.count == line.metadata.count + 4)
        }
        let json = try JSONValue(parsing: Self.line(message: text, [:]).json)
        #expect(json["message"] == .string(text))
    }
}

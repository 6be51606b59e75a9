import FoundationEssentials
import JSON
import JSONSchema
import SwiftContent
import Testing

@Suite("Why Tally may be stricter than the decoder")
struct StrictnessTests {
    private static let composed = "caf\u{e9}"
    private static let decomposed = "cafe\u{301}"

    /// What Tally finds in a dictionary of dates, and whether the list explains each of it.
    private func explained(_ content: JSONValue) throws -> [Bool] {
        let schema: JSONValue = [
            "type": "object", "additionalProperties": ["type": "number", "x-swift-type": "Date"],
        ]
        let (_, findings) = TypedContent(schema).settled(content) { _ in nil }
        let violations = try CompiledSchema(schema).validate(content)
        return findings.map { Strictness($0, of: content) != nil }
            + violations.map { Strictness($0, of: content, schema: schema) != nil }
    }

    @Test("A key that is there twice, in different code points, is one to the decoder: it reads the first value alone")
    func keyTwice() throws {
        for keys in [[Self.composed, Self.decomposed], [Self.decomposed, Self.composed]] {
            let twice = try JSONValue(parsing: #"{"\#(keys[0])":1,"\#(keys[1])":"no date"}"#)
            let decoded = try JSONDecoder().decode([String: Double].self, from: Data(twice.serialized()))
            #expect(decoded == [keys[0]: 1])
            let reasons = try explained(twice)
            #expect(!reasons.isEmpty)
            #expect(reasons.allSatisfy { $0 })
        }
        // Once, the decoder refuses it as well.
        let once = try explained(["café": "no date"])
        #expect(!once.isEmpty)
        #expect(once.contains(false))
    }
}

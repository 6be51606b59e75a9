import JSON
import TestSupport
import Testing

@Suite("Documents by chance")
struct ParserFuzzTests {
    @Test("Every row of pieces of JSON is read, and survives, or is refused at a place in it")
    func pieces() {
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"\\u00", "\\", "0", "-", "1", ".5", "e9", "E+", "true",
            "nul",
            "null", " ", "\n", "\u{E9}", "\u{0}", "\"b\":", "[[", "]]", "1,", "\\ud83d", "\\ude00",
        ].map { Array($0.utf8) }
        var accepted = 0
        for seed in FuzzSeeds.range {
            var random = SeededRandom(seed: seed)
            for _ in 0..<50 {
                var bytes: [UInt8] = []
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    bytes += pieces[Int.random(in: pieces.indices, using: &random)]
                }
                do throws(JSONParsingError) {
                    let value = try JSONValue.parse(bytes)
                    accepted += 1
                    #expect(try JSONValue.parse(value.serialized()) == value, "seed \(seed)")
                } catch {
                    #expect((0...bytes.count).contains(error.offset), "seed \(seed)")
                }
            }
        }
        #expect(accepted >= FuzzSeeds.range.count / 10)
    }
}

import TestSupport
import Testing

@testable import JSON

/// Documents that are small to send and would be dear to read, if reading were not linear.
@Suite("Floods of JSON", .timeLimit(.minutes(2)))
struct FloodTests {
    /// Every order of these marks makes the same letter to Unicode: canonically equivalent, and different texts to
    /// JSON.
    private static let marks: [Unicode.Scalar] = [
        "\u{323}", "\u{307}", "\u{328}", "\u{31B}", "\u{345}", "\u{334}", "\u{5B0}", "\u{5B1}",
    ]

    /// Texts that Swift's `String` holds equal, so that it hashes all of them alike.
    private static func equivalents(_ count: Int) -> [String] {
        var orders: [[Unicode.Scalar]] = [[]]
        for mark in marks {
            orders = orders.flatMap { order in
                (0...order.count).map { place in
                    var longer = order
                    longer.insert(mark, at: place)
                    return longer
                }
            }
        }
        return orders.prefix(count).map { order in
            var text = "a"
            text.unicodeScalars.append(contentsOf: order)
            return text
        }
    }

    @Test("Texts that differ in normalization alone do not collide, as keys nor as values")
    func equivalentTexts() {
        let texts = Self.equivalents(5_000)
        #expect(Set(texts).count == 1)
        #expect(Set(texts.map { ExactText($0).hashValue }).count == texts.count)
        #expect(Set(texts.map { JSONValue.string($0).hashValue }).count == texts.count)
        let objects = texts.map { JSONValue.object([$0: 1]) }
        #expect(Set(objects.map(\.hashValue)).count == texts.count)
        #expect(Set(texts.map { JSONValue.string($0) }).count == texts.count)
        #expect(Set(texts.map { JSONPointer(tokens: [$0]).hashValue }).count == texts.count)
    }

    @Test("Equal values hash alike, whatever their form")
    func equalValues() throws {
        for (left, right) in [
            ("1e2", "100.0"), (#"{"a":1,"b":2}"#, #"{"b":2.0,"a":1}"#), (#""\u0061""#, #""a""#),
            (#"["é"]"#, #"["\u00e9"]"#),
        ] {
            let (left, right) = (try JSONValue(parsing: left), try JSONValue(parsing: right))
            #expect(left == right && left.hashValue == right.hashValue)
        }
    }

    @Test(
        "An object of as many keys as a body holds is read, all alike at their ends or not",
        arguments: [false, true]
    )
    func manyKeys(equivalent: Bool) throws {
        let keys = equivalent ? Self.equivalents(40_000) : (0..<80_000).map { "k\(1_000_000 + $0)k" }
        let members = keys.map { "\"\($0)\":1" }.joined(separator: ",")
        let value = try JSONValue(parsing: "{\(members)}")
        #expect(value.object?.count == keys.count)
        #expect(value[keys[keys.count / 2]] == 1)
        #expect(throws: JSONParsingError.self) { try JSONValue(parsing: "{\(members),\"\(keys[0])\":2}") }
    }

    @Test("Numbers of a million digits and of any exponent are kept or refused, compared and hashed")
    func hugeNumbers() throws {
        let digits = String(repeating: "7", count: 1_000_000)
        let long = try JSONValue(parsing: digits)
        #expect(long.text == digits && long.int64 == nil)
        #expect(try long == JSONValue(parsing: digits + ".0"))
        let zeros = try JSONValue(parsing: "0." + String(repeating: "0", count: 1_000_000) + "1")
        #expect(zeros != 0 && zeros.int64 == nil)
        // Whichever it is, it is at once.
        for text in ["1e999999999", "-1e-999999999", "1e99999999999999999999", "1E+2147483648", "0e999999999"] {
            guard let value = try? JSONValue(parsing: text) else { continue }
            #expect(value.text == text)
            #expect(value == value && value.hashValue == value.hashValue)
            _ = (value.int64, value.double)
        }
    }

    @Test("A string as long as a body may be, of anything, comes back")
    func giantString() throws {
        for piece in ["x", "\\u0000", "\\ud83d\\ude00", "\u{301}", "\\\\"] {
            let document = "\"" + String(repeating: piece, count: (1 << 20) / piece.utf8.count) + "\""
            let value = try JSONValue(parsing: document)
            #expect(try JSONValue.parse(value.serialized()) == value)
        }
    }
}

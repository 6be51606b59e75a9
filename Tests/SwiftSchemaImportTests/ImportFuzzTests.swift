import JSON
import JSONSchema
import SwiftContent
import SwiftSchemaImport
import TestSupport
import Testing

/// Damaged and hostile sources: no crash, an answer in bounded time, and schemas that are schemas.
struct ImportFuzzTests {
    private static let pieces = [
        "{", "}", "(", ")", "[", "]", "<", ">", ":", ",", "?", "??", "!", "=", ".", "\"", "\"\"\"", "`", "@", "#if",
        "#endif", "#else", "/*", "*/",
        "struct ", "enum ", "extension ", "case ", "indirect ", "var ", "let ", "typealias ", "class ", "protocol ",
        "Codable", "ContentState",
        "ActivityAttributes", "CodingKeys", "init(from decoder: Decoder)", "Int", "[Int: Int]", "\\(", "\u{0}", "é",
        "🙂", "\n", "where T: ", "any ",
    ]

    private static func outcome(_ text: String) throws {
        do {
            let imported = try ImportedSchemas(ImportRequest([SwiftSource(name: "a.swift", text: text)]))
            try TypedContent.check(imported.attributes, CompiledSchema(imported.attributes))
            try TypedContent.check(imported.contentState, CompiledSchema(imported.contentState))
        } catch let error as SwiftImportError {
            #expect(!error.problems.isEmpty)
        }
    }

    private static func damaged(_ text: String, _ random: inout SeededRandom) -> String {
        var scalars = Array(text.unicodeScalars)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0...scalars.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let piece = pieces[Int.random(in: 0..<pieces.count, using: &random)]
                scalars.insert(contentsOf: piece.unicodeScalars, at: place)
            case 1: scalars.removeSubrange(place..<min(scalars.count, place + Int.random(in: 1...12, using: &random)))
            case 2: scalars.insert(contentsOf: scalars[place..<min(scalars.count, place + 40)], at: place)
            default: scalars.removeSubrange(min(place + 600, scalars.count)...)
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }

    @Test(.timeLimit(.minutes(5)), arguments: FuzzSeeds.range)
    func damagedSourcesAreRefusedOrRead(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var generator = ShapeGenerator(random: SeededRandom(seed: seed))
        let source = generator.shape(0).source
        for _ in 0..<4 { try Self.outcome(Self.damaged(source, &random)) }
    }

    /// The start, what is repeated, the end.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ("var a: ", "[", ""), ("var a: Int", "?", ""), ("var a: ", "A.", "B"), ("var a: ", "Array<", "Int"),
            ("var a = ", "(", ""),
            ("var a = b", ".c", ""), ("var a = b", "()", ""), ("var a = ", "-", "1"), ("var a = 1", "+1", ""),
            ("var a = { ", "{ ", ""),
            ("", "struct S { ", ""), ("", "#if os(iOS)\n", ""), ("var a: ", "(", "Int"),
            ("enum E { case a", ", a", " }"), ("", "@a ", "var b: Int"),
            ("", "var a: Int\n", ""), ("#if ", "!", "DEBUG\nvar a: Int\n#endif"),
            ("#if a", " && a", "\nvar a: Int\n#endif"),
            ("", "typealias A = A\n", "var a: A"), ("var a: A\n", "typealias A = [A]\n", ""), ("var a: ", "any ", "P"),
            ("var s = \"", "\\(", ""),
            ("var a: ", "(Int) -> ", "Int"), ("var a: ", "A & ", "A"), ("func f() { ", "if a { ", ""),
        ]
    )
    func deepAndLongSourcesEnd(_ start: String, _ repeated: String, _ end: String) throws {
        for count in [30, 300, 20_000] {
            let inner = start + String(repeating: repeated, count: count) + end
            try Self.outcome("struct G: ActivityAttributes { struct ContentState: Codable { \(inner)\n } }")
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func manyTypesThatHoldEachOtherAreBounded() throws {
        let structs = (0..<1500).map { number in
            "struct S\(number): Codable { var a: [UUID: [S\((number + 1) % 1500)]]; var b: [Int64: S\((number * 7) % 1500)?] }"
        }
        let text = structs.joined(separator: "\n")
        try Self.outcome("struct G: ActivityAttributes { struct ContentState: Codable { var a: S0 } }\n" + text)
    }
}

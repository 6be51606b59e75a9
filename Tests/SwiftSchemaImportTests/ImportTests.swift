import JSON
import JSONSchema
import SwiftContent
import SwiftSchemaImport
import Testing

struct ImportTests {
    private static func imported(
        _ contentState: String,
        beside: String = "",
        supplied: [String: JSONValue] = [:]
    ) throws -> JSONValue {
        let source = """
            import ActivityKit
            struct Game: ActivityAttributes {
                struct ContentState: Codable, Hashable {
                    \(contentState)
                }
            }
            \(beside)
            """
        let schema = try ImportedSchemas(
            ImportRequest([SwiftSource(name: "Game.swift", text: source)], supplied: supplied)
        ).contentState
        // Every type that it names is applied.
        try TypedContent.check(schema, CompiledSchema(schema))
        return schema
    }

    private static func keys(_ schema: JSONValue) -> [String] { schema.object?["properties"]?.object?.keys ?? [] }
    private static func required(_ schema: JSONValue) -> [String] {
        schema.object?["required"]?.array?.compactMap(\.string) ?? []
    }

    @Test func aStructBecomesAnObjectWithItsStoredProperties() throws {
        let source = SwiftSource(
            name: "Game.swift",
            text: """
                public struct GameAttributes: ActivityAttributes {
                    public struct ContentState: Codable, Hashable {
                        var homeScore: Int
                        var clock: String?
                    }
                    public let title: String
                }
                """
        )
        let imported = try ImportedSchemas(ImportRequest([source]))
        #expect(imported.typeName == "GameAttributes")
        #expect(
            imported.attributes == [
                "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
                "x-swift-type": "GameAttributes", "required": ["title"],
                "properties": ["title": ["type": "string", "x-swift-type": "String"]],
            ]
        )
        #expect(
            imported.contentState == [
                "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
                "x-swift-type": "GameAttributes.ContentState", "required": ["homeScore"],
                "properties": [
                    "homeScore": [
                        "type": "integer", "minimum": -9_223_372_036_854_775_808, "maximum": 9_223_372_036_854_775_807,
                        "x-swift-type": "Int",
                    ],
                    "clock": ["type": ["string", "null"], "x-swift-type": "String"],
                ],
            ]
        )
    }

    @Test func onlyWhatIsDecodedIsAsked() throws {
        let schema = try Self.imported(
            """
            let version = 1
            static var shared = 2
            lazy var late = 3
            var computed: Int { 4 }
            var stored = 5
            private var hidden: Bool { didSet { print(hidden) } }
            var i, j: Int8
            var optional: Optional<String> = nil
            """
        )
        #expect(Self.keys(schema) == ["stored", "hidden", "i", "j", "optional"])
        #expect(Self.required(schema) == ["stored", "hidden", "i", "j"])
    }

    @Test func codingKeysRenameAndLeaveOut() throws {
        let schema = try Self.imported(
            """
            var homeScore: Int
            var note: String = ""
            enum CodingKeys: String, CodingKey { case homeScore = "home_score" }
            """
        )
        #expect(Self.keys(schema) == ["home_score"])
    }

    @Test func typesAreFoundAcrossFilesExtensionsAndAliases() throws {
        let first = SwiftSource(
            name: "A.swift",
            text: "struct Game: ActivityAttributes { typealias ContentState = Model.State; let id: Identifier }"
        )
        let second = SwiftSource(
            name: "B.swift",
            text: """
                enum Model {}
                typealias Identifier = UUID?
                extension Model { struct State: Codable, Hashable { var team: Team; var teams: [Team] } }
                extension Model.State { struct Team: Codable, Hashable { var name: Swift.String; var rivals: [Team] } }
                """
        )
        for sources in [[first, second], [second, first]] {
            let imported = try ImportedSchemas(ImportRequest(sources))
            #expect(Self.required(imported.attributes).isEmpty)
            let schema = try CompiledSchema(imported.contentState)
            let team: JSONValue = ["name": "A", "rivals": [["name": "B", "rivals": []]]]
            #expect(schema.isValid(["team": team, "teams": [team]]))
            #expect(!schema.isValid(["team": ["name": "A", "rivals": [["name": 1, "rivals": []]]], "teams": []]))
        }
    }

    /// Extensions as they are written, before or behind what they are of; all of them make a state whose key is
    /// renamed.
    @Test(arguments: [
        "extension Game.Status { enum CodingKeys: String, CodingKey { case score = \"s\" } }",
        "typealias Shown = Game.Status\nextension Shown { enum CodingKeys: String, CodingKey { case score = \"s\" } }",
        "extension App.Game.ContentState { enum CodingKeys: String, CodingKey { case score = \"s\" } }",
        """
        extension Box.Shown { enum CodingKeys: String, CodingKey { case score = "s" } }
        extension Box { typealias Shown = Inner.Shown }
        extension Box { enum Inner { typealias Shown = Game.ContentState } }
        enum Box {}
        """,
    ])
    func anExtensionCountsByWhateverNameItIsWritten(_ extended: String) throws {
        let attributes = SwiftSource(
            name: "Game.swift",
            text: """
                struct Game: ActivityAttributes {
                    typealias Status = ContentState
                    struct ContentState: Codable, Hashable { var score: Int }
                }
                """
        )
        let other = SwiftSource(name: "Other.swift", text: extended)
        for sources in [[attributes, other], [other, attributes]] {
            #expect(Self.keys(try ImportedSchemas(ImportRequest(sources)).contentState) == ["s"])
        }
    }

    @Test(arguments: ["extension Phase", "extension App.Phase", "extension Alias"])
    func anExtensionBeforeAnEnumLeavesItsRawValues(_ extended: String) throws {
        let extensions = SwiftSource(name: "A.swift", text: "typealias Alias = Phase\n\(extended): CaseIterable {}")
        let game = SwiftSource(
            name: "B.swift",
            text: """
                struct Game: ActivityAttributes { struct ContentState: Codable { var phase: Phase } }
                enum Phase: String, Codable { case first, second }
                """
        )
        let schema = try ImportedSchemas(ImportRequest([extensions, game])).contentState
        #expect(schema["$defs"]?["Phase"]?["enum"] == ["first", "second"])
    }

    @Test func aHelperOfTheContainersIsNoHindrance() throws {
        let helper = "extension KeyedDecodingContainer { func decodeLossy(_ key: Key) -> Int? { nil } }"
        #expect(Self.keys(try Self.imported("var a: Int", beside: helper)) == ["a"])
    }

    @Test func aShortSourceMakesNoLongSchema() throws {
        let cases = (0..<30).map { "c\($0)" }.joined(separator: ", ")
        let key = "enum K: String, Codable, CodingKeyRepresentable { case \(cases) }"
        #expect(try Self.imported("var a: [K: [K: Int]]", beside: key).text.utf8.count < 1 << 20)
        let error = #expect(throws: SwiftImportError.self) {
            try Self.imported("var a: [K: [K: [K: Int]]]", beside: key)
        }
        #expect(error?.description.contains("more than fits one schema") == true)
    }

    @Test func conditionsAreDecidedAsForPhones() throws {
        let schema = try Self.imported(
            """
            #if os(iOS) && !targetEnvironment(macCatalyst)
            var a: Int
            #elseif DEBUG
            var b: Int
            #else
            var c: Int
            #endif
            #if os(watchOS) || os(tvOS)
            var d: Int
            #endif
            """,
            beside: "#if DEBUG\nstruct Preview { var x: Unknown }\n#endif"
        )
        #expect(Self.keys(schema) == ["a"])
    }

    @Test func aSuppliedSchemaStandsForATypeThatCannotBeRead() throws {
        let money: JSONValue = ["type": "string", "minLength": 1]
        let schema = try Self.imported(
            "var price: Money?\nvar prices: [Kit.Price]",
            supplied: ["Money": money, "Price": true]
        )
        let compiled = try CompiledSchema(schema)
        #expect(compiled.isValid(["price": "1 EUR", "prices": [1]]))
        #expect(compiled.isValid(["price": nil, "prices": []]))
        #expect(!compiled.isValid(["price": "", "prices": []]))
    }

    @Test func aSuppliedSchemaStandsByItself() {
        #expect(throws: SwiftImportError.self) { try Self.imported("var a: M", supplied: ["M": ["$ref": "#/$defs/x"]]) }
        #expect(throws: SwiftImportError.self) { try Self.imported("var a: M", supplied: ["M": ["type": "nothing"]]) }
    }

    /// Content state, what is declared beside it, line and column, and words of the message.
    @Test(arguments: [
        ("var a: Money", "", "4:16", "'Money' encodes as is not known"),
        ("var a: (Int, Int)", "", "4:16", "a tuple"),
        ("var a: any Hashable", "", "4:16", "not known to be Codable"),
        ("var a: Box<Int>", "struct Box<T: Codable>: Codable { var t: T }", "4:16", "generic"),
        ("@Wrapped var a: Int", "", "4:9", "@Wrapped may be a property wrapper"),
        ("var a = Date()", "", "4:13", "cannot be told from its value"),
        ("let (a, b): (Int, Int)", "", "4:13", "single names"),
        (
            "var a: Own", "struct Own: Codable {\n init(from decoder: any Decoder) throws {} }", "8:2",
            "its own init(from:)"
        ),
        (
            "var a: Own", "struct Own: Codable {}\nextension Own { init(from d: Decoder) throws {} }", "8:17",
            "its own init(from:)"
        ),
        (
            "var a: Own",
            "struct Own: Codable {}\ntypealias Mine = Own\nextension Mine { init(from d: Decoder) throws {} }",
            "9:18", "its own init(from:)"
        ),
        (
            "var a: Int", "extension App.Game.ContentState { init(from d: Decoder) throws {} }", "7:35",
            "its own init(from:)"
        ),
        (
            "var a: Own",
            "struct Own: Codable {}\n#if A\n#if os(iOS)\nextension Own { init(from d: Decoder) throws {} }\n#endif\n#endif",
            "8:5", "depends on a condition"
        ),
        (
            "var a: Date",
            "extension KeyedDecodingContainer {\n func decode(_: Date.Type, forKey: K) throws -> Date { .now } }",
            "8:2", "an extension of KeyedDecodingContainer"
        ),
        (
            "var a: Date",
            "#if A\nextension Swift.UnkeyedDecodingContainer {\n func decode(_: Date.Type) -> Date { .now } }\n#endif",
            "9:2", "an extension of UnkeyedDecodingContainer"
        ),
        ("var a: [ID: Int]", "", "4:17", "'ID' becomes a key"),
        ("var a: [Key: Int]", "typealias Key = ID", "4:17", "'Key' becomes a key"),
        ("var a: [Kept: Int]", "struct Kept: Codable, IDBased { var id: ID }", "4:17", "'Kept' becomes a key"),
        ("var a: E", "enum E: CGFloat, Codable { case a = 1 }", "7:9", "'CGFloat' is not declared"),
        (
            "var a: Raw", "struct Raw: RawRepresentable, Codable { var rawValue: CGFloat }", "7:8",
            "how this RawRepresentable is decoded"
        ),
        ("var a: Bare", "struct Bare { var b: Int }", "7:8", "not declared Codable"),
        ("var a: Ref", "class Ref: Codable { var b = 1 }", "4:16", "no struct or enum"),
        ("var a: Mine", "struct Mine: Codable, Snapshot {}", "7:23", "'Snapshot' is not declared"),
        (
            "var a: Mine", "protocol P { init(from decoder: Decoder) throws }\nstruct Mine: Codable, P {}", "7:14",
            "of a protocol"
        ),
        (
            "var a: E", "enum E: String, Codable { case a\n init?(rawValue: String) { nil } }", "8:2",
            "its own init(rawValue:)"
        ),
        ("var a: E", "enum E: Codable {}", "7:6", "no cases"),
        ("var a: [E: Int]", "struct E: Codable, CodingKeyRepresentable { var x: Int }", "4:17", "becomes a key"),
        ("var a: Range<E>", "struct E: Codable {}", "4:22", "only ranges of"),
        ("var a: Int\nenum CodingKeys: String, CodingKey { case a, b }", "", "5:46", "no stored property 'b'"),
        ("var a: Int\n#if DEBUG\nvar b: Int\n#endif", "", "5:5", "depends on a condition"),
        ("#row(a)", "", "4:9", "a macro declares"),
        ("var a: Character", "", "4:16", "'Character' encodes as is not known"),
        ("var a: Int {", "", "", "not Swift that can be read"),
    ])
    func whatCannotBeKnownIsSaidWithItsPlace(
        _ contentState: String,
        _ beside: String,
        _ place: String,
        _ words: String
    ) throws {
        let error = try #require(throws: SwiftImportError.self) {
            try Self.imported(contentState, beside: beside, supplied: ["ID": ["type": "string"], "Kept": true])
        }
        let problem = try #require(error.problems.first)
        #expect(problem.message.contains(words), "\(problem.line)")
        if !place.isEmpty { #expect(problem.line.hasPrefix("Game.swift:\(place):"), "\(problem.line)") }
    }

    @Test func severalAttributesNeedAName() throws {
        let source = SwiftSource(
            name: "All.swift",
            text: """
                struct A: ActivityAttributes { struct ContentState: Codable { var a: Int } }
                struct B: ActivityAttributes { struct ContentState: Codable { var b: Int } }
                """
        )
        let error = try #require(throws: SwiftImportError.self) { try ImportedSchemas(ImportRequest([source])) }
        #expect(error.description.contains("A, B"))
        #expect(try Self.keys(ImportedSchemas(ImportRequest([source], typeName: "B")).contentState) == ["b"])
        #expect(throws: SwiftImportError.self) { try ImportedSchemas(ImportRequest([source], typeName: "C")) }
        #expect(throws: SwiftImportError.self) { try ImportedSchemas(ImportRequest([])) }
    }

    @Test func whatIsTooLargeIsRefused() {
        let text = String(repeating: "// 0123456789\n", count: 20_000)
        let error = #expect(throws: SwiftImportError.self) {
            try ImportedSchemas(ImportRequest([SwiftSource(name: "A", text: text)]))
        }
        #expect(error?.description.contains("262144") == true)
    }

    @Test func allProblemsAreReportedTogether() throws {
        let error = try #require(throws: SwiftImportError.self) {
            try Self.imported("var a: A\nvar b: (Int, Int)\nvar c: [C]")
        }
        #expect(error.problems.count == 3)
    }
}

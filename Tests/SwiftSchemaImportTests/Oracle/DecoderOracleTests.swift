import Foundation
import JSON
import JSONSchema
import SwiftContent
import SwiftSchemaImport
import TestSupport
import Testing

/// The real decoder judges the importer: what Tally lets through must decode, and what it refuses must not, but for
/// what ``Strictness`` lists.
struct DecoderOracleTests {
    private static let settings = ProcessInfo.processInfo.environment
    private static let seed = settings["TALLY_ORACLE_SEED"].flatMap { UInt64($0) } ?? 2026
    private static let shapeCount = settings["TALLY_ORACLE_SHAPES"].flatMap { Int($0) } ?? 40
    private static let documentsPerType = 160

    @Test(.timeLimit(.minutes(10)))
    func importedSchemasAgreeWithTheRealDecoder() async throws {
        var generator = ShapeGenerator(random: SeededRandom(seed: Self.seed))
        var sources: [String] = []
        var types: [JudgedType] = []
        for number in 0..<Self.shapeCount {
            let shape = generator.shape(number)
            sources.append(shape.source)
            let imported = try Self.imported(shape.source, number)
            types.append(try JudgedType("Shape\(number)", shape.attributes, imported.attributes))
            types.append(try JudgedType("Shape\(number).ContentState", shape.contentState, imported.contentState))
        }
        let program = try await DecoderProgram(sources: sources, types: types.map(\.name))
        var documents = DocumentGenerator(random: SeededRandom(seed: Self.seed &+ 1))
        let judged = types.enumerated().flatMap { index, type in
            (0..<Self.documentsPerType).map { round in
                let valid = documents.valid(type.shape)
                let isDamaged = round % 4 != 0
                return (type: index, type.judge(isDamaged ? documents.damaged(valid) : valid, isDamaged: isDamaged))
            }
        }
        let verdicts = try await program.verdicts(on: judged.map { ($0.type, $0.1.sent) })
        try #require(verdicts.count == judged.count)
        try program.remove()
        var agreement = Agreement()
        for ((type, judgement), decodes) in zip(judged, verdicts) {
            agreement.compare(judgement, decodes: decodes, types[type])
        }
        print("Seed \(Self.seed), \(Self.shapeCount) shapes: \(agreement)")
        #expect(agreement.wrong == 0)
    }

    private static func imported(_ source: String, _ number: Int) throws -> ImportedSchemas {
        do {
            return try ImportedSchemas(ImportRequest([SwiftSource(name: "Shape\(number).swift", text: source)]))
        } catch {
            Issue.record("\(error)\n\(source)")
            throw error
        }
    }
}

/// A generated type with the schema that was imported for it.
private struct JudgedType {
    let name: String
    let shape: StructShape
    let document: JSONValue
    private let schema: CompiledSchema
    private let typed: TypedContent

    init(_ name: String, _ shape: StructShape, _ document: JSONValue) throws {
        self.name = name
        self.shape = shape
        self.document = document
        schema = try CompiledSchema(document)
        try TypedContent.check(document, schema)
        typed = TypedContent(document)
    }

    func judge(_ content: JSONValue, isDamaged: Bool) -> Judgement {
        let (settled, findings) = typed.settled(content, time: Self.readTime)
        let violations = schema.validate(settled)
        let reasons =
            findings.map { Strictness($0, of: content) }
            + violations.map { Strictness($0, of: settled, schema: document) }
        return Judgement(
            isDamaged: isDamaged,
            isAccepted: reasons.isEmpty,
            sent: reasons.isEmpty ? settled : content,
            reasons: reasons,
            words: findings.map { "\($0.instance): \($0.message)" } + violations.map(\.line)
        )
    }

    @Sendable private static func readTime(_ text: String) -> TypedContent.Time? {
        let fraction: ISO8601DateFormatter.Options = text.contains(".") ? .withFractionalSeconds : []
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = fraction.union(.withInternetDateTime)
        return formatter.date(from: text).map { date in
            .init(microseconds: Int64((date.timeIntervalSince1970 * 1_000_000).rounded()), text: text)
        }
    }
}

/// What Tally says of one document.
private struct Judgement {
    let isDamaged: Bool
    let isAccepted: Bool
    /// What the phone would be sent, or what was refused.
    let sent: JSONValue
    /// Why each refusal may stand against the decoder; nil where it may not.
    let reasons: [Strictness?]
    let words: [String]
}

private struct Agreement: CustomStringConvertible {
    private var both = 0
    private var neither = 0
    private var strict = 0
    private(set) var wrong = 0
    private var strictnesses: [Strictness: Int] = [:]

    mutating func compare(_ judgement: Judgement, decodes: Bool, _ type: JudgedType) {
        if !judgement.isDamaged, !judgement.isAccepted || !decodes {
            report("a valid document is refused (the decoder takes it: \(decodes))", judgement, type)
        }
        switch (judgement.isAccepted, decodes) {
        case (true, true): both += 1
        case (false, false): neither += 1
        case (true, false): report("accepted, but it does not decode", judgement, type)
        case (false, true):
            strict += 1
            // All that is wrong must be wrong by our own rules alone.
            if judgement.reasons.contains(nil) { report("refused without a known reason", judgement, type) }
            for case let reason? in judgement.reasons { strictnesses[reason, default: 0] += 1 }
        }
    }

    private mutating func report(_ what: String, _ judgement: Judgement, _ type: JudgedType) {
        wrong += 1
        guard wrong <= 10 else { return }
        Issue.record("\(type.name): \(what): \(judgement.sent.text)\n\(judgement.words)\n\(type.document.text)")
    }

    var description: String {
        let total = both + neither + strict
        let list = strictnesses.sorted { $0.value > $1.value }.map { "\n  \($0.value) times: \($0.key.rawValue)" }
            .joined()
        return "\(total) documents; both accept \(both), both refuse \(neither), Tally alone refuses \(strict), "
            + "unexplained \(wrong)\(list)"
    }
}

import Foundation
import JSON
import SwiftContent
import SwiftImporter
import Testing

@Suite("The program that imports", .timeLimit(.minutes(5)))
struct ImportProgramTests {
    private static let source = SwiftSource(
        name: "Game.swift",
        text: "struct Game: ActivityAttributes {\n  struct ContentState: Codable { var price: Money }\n}"
    )

    /// An importer whose program is a script.
    private func withScript(
        _ script: String,
        deadline: Duration = .seconds(60),
        _ body: (SwiftImporter, URL) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tally-importer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // What is left in /tmp harms nobody.
        let program = folder.appending(path: "program")
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: program)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.path)
        try await body(SwiftImporter(program: program.path, deadline: deadline), folder)
    }

    private func failure(_ importer: SwiftImporter) async -> SwiftImporterError.Code? {
        do {
            _ = try await importer.answer(to: ImportRequest([]))
            return nil
        } catch {
            return error.code
        }
    }

    @Test("It makes schemas, with those that are supplied")
    func made() async throws {
        let request = ImportRequest([Self.source], typeName: "Game", supplied: ["Money": ["type": "string"]])
        guard case .made(let schemas) = try await SwiftImporter().answer(to: request) else {
            Issue.record("it was refused")
            return
        }
        #expect(schemas.typeName == "Game")
        #expect(schemas.contentState["$defs"]?["Money"] == ["type": "string"])
    }

    @Test("What stands in the way comes with its place in the source, or in what was supplied")
    func refused() async throws {
        let unknown = try await SwiftImporter().answer(to: ImportRequest([Self.source]))
        guard case .refused(let error) = unknown else {
            Issue.record("it was accepted")
            return
        }
        #expect(error.problems.map(\.place) == [SourcePlace(file: "Game.swift", line: 2, column: 45)])
        let supplied: [String: JSONValue] = ["Money": ["type": "coin"], "Other": ["$ref": "#"]]
        let wrong = try await SwiftImporter().answer(to: ImportRequest([Self.source], supplied: supplied))
        guard case .refused(let error) = wrong else {
            Issue.record("it was accepted")
            return
        }
        #expect(error.problems.map { $0.supplied?.description } == ["/Money/type", "/Other"])
        #expect(error.problems.allSatisfy { $0.place == nil })
    }

    @Test("A source of a few kilobytes makes no answer of megabytes")
    func longAnswer() async throws {
        let cases = (0..<25).map { "c\($0)" + String(repeating: "x", count: 100) }.joined(separator: ", ")
        let source = SwiftSource(
            name: "Game.swift",
            text: """
                struct Game: ActivityAttributes { struct ContentState: Codable { var a: [K: [K: [K: Int]]] } }
                enum K: String, Codable, CodingKeyRepresentable { case \(cases) }
                """
        )
        let error = await #expect(throws: SwiftImporterError.self) {
            _ = try await SwiftImporter().answer(to: ImportRequest([source]))
        }
        #expect(error?.code == .exhausted)
    }

    @Test("A request survives its way to the program")
    func requests() throws {
        let request = ImportRequest([Self.source], typeName: "G", supplied: ["A": true, "B": ["type": "string"]])
        #expect(ImportRequest(json: request.json) == request)
        #expect(ImportRequest(json: ImportRequest([]).json) == ImportRequest([]))
        #expect(ImportRequest(json: ["sources": [["name": "a"]], "supplied": [:]]) == nil)
    }

    @Test("A program that is not there, dies, takes too long or talks nonsense is an error of its own")
    func failures() async throws {
        #expect(await failure(SwiftImporter(program: "/nowhere/tally-import")) == .missing)
        try await withScript("kill -SEGV $$") { importer, _ in #expect(await failure(importer) == .exhausted) }
        try await withScript("exec sleep 600", deadline: .milliseconds(50)) { importer, _ in
            #expect(await failure(importer) == .exhausted)
        }
        try await withScript("exit 3") { importer, _ in #expect(await failure(importer) == .failed) }
        try await withScript("echo '{}'") { importer, _ in #expect(await failure(importer) == .failed) }
    }

    @Test("The fifth at the same time is refused, and room is made again")
    func busy() async throws {
        try await withScript("until [ -e \"$(dirname \"$0\")/go\" ]; do sleep 0.05; done") { importer, folder in
            await withTaskGroup(of: SwiftImporterError.Code?.self) { group in
                for _ in 0..<5 { group.addTask { await failure(importer) } }
                #expect(await group.next() == .busy)
                #expect(FileManager.default.createFile(atPath: folder.appending(path: "go").path, contents: nil))
                for await code in group { #expect(code == .failed) }
            }
            #expect(await failure(importer) == .failed)
        }
    }
}

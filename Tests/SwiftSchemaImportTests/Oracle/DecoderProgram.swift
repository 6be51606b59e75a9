import Foundation
import JSON
import Testing

/// A program made of generated shapes that decodes documents with the real `JSONDecoder()`.
struct DecoderProgram {
    private let folder: URL

    /// Compiles the sources with the toolchain's `swiftc`, to decode documents as these types; documents name them by
    /// position.
    init(sources: [String], types: [String]) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "tally-oracle-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let text = Self.preamble + sources.joined(separator: "\n\n") + "\n" + Self.main(types)
        try text.write(to: folder.appending(path: "main.swift"), atomically: true, encoding: .utf8)
        let compiler = try await Self.run(
            "/usr/bin/env",
            ["swiftc", "-Onone", "-suppress-warnings", "-swift-version", "5", "-o", "decoder", "main.swift"],
            in: folder
        )
        let errors = String(decoding: compiler.errors.prefix(4000), as: UTF8.self)
        try #require(compiler.status == 0, "the shapes do not compile: \(errors)")
    }

    /// Whether each document decodes.
    func verdicts(on documents: [(type: Int, document: JSONValue)]) async throws -> [Bool] {
        let input = documents.map { "\($0.type)\t\($0.document.text)\n" }.joined()
        try input.write(to: folder.appending(path: "documents"), atomically: true, encoding: .utf8)
        let answer = try await Self.run(folder.appending(path: "decoder").path, ["documents"], in: folder)
        try #require(answer.status == 0)
        return answer.output.compactMap { $0 == UInt8(ascii: "1") ? true : $0 == UInt8(ascii: "0") ? false : nil }
    }

    func remove() throws { try FileManager.default.removeItem(at: folder) }

    private static let preamble = """
        import Foundation
        protocol ActivityAttributes: Codable { associatedtype ContentState: Codable }

        """

    private static func main(_ types: [String]) -> String {
        let decoders = types.map { "{ (try? decoder.decode(\($0).self, from: $0)) != nil }" }
        return """
            let decoder = JSONDecoder()
            let decoders: [(Data) -> Bool] = [
            \(decoders.joined(separator: ",\n"))
            ]
            let input = try String(contentsOfFile: CommandLine.arguments[1], encoding: .utf8)
            var answer = ""
            for line in input.utf8.split(separator: UInt8(ascii: "\\n")) {
                let parts = line.split(separator: UInt8(ascii: "\\t"), maxSplits: 1)
                let type = Int(String(decoding: parts[0], as: UTF8.self))!
                answer += decoders[type](Data(parts[1])) ? "1" : "0"
            }
            print(answer)
            """
    }

    /// Runs a program to its end; what it writes goes to files, which never fill up as pipes do.
    private static func run(
        _ program: String,
        _ arguments: [String],
        in folder: URL
    ) async throws -> (status: Int32, output: Data, errors: Data) {
        let outputFile = folder.appending(path: "output")
        let errorFile = folder.appending(path: "errors")
        for file in [outputFile, errorFile] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardOutput = try FileHandle(forWritingTo: outputFile)
        process.standardError = try FileHandle(forWritingTo: errorFile)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        return (process.terminationStatus, try Data(contentsOf: outputFile), try Data(contentsOf: errorFile))
    }
}

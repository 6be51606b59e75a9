import Foundation
import SystemSupport
import TestSupport

/// Runs what a document says.
enum Shell {
    /// Runs commands in a folder until one fails; what they print comes back.
    @discardableResult
    static func run(
        _ script: String,
        environment: [String: String] = [:],
        in folder: PrivateFolder,
        stopsAtFailure: Bool = true
    ) async throws -> String {
        let path = [
            Places.programs.path, postgresPrograms, ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
        ]
        let variables = environment.merging(["PATH": path.joined(separator: ":")]) { $1 }.map { "\($0)=\($1)" }
        let output = try await Program("env").run(
            ["-C", folder.url.path] + variables + ["bash", stopsAtFailure ? "-euo" : "-uo", "pipefail", "-c", script],
            within: .seconds(120)
        )
        guard output.status == 0 || !stopsAtFailure else {
            throw Failure("\(script)\n\(output.status)\n\(output.text)")
        }
        return output.text
    }

    /// Where Debian keeps those of the newest version.
    private static let postgresPrograms: String = {
        let parent = "/usr/lib/postgresql"
        // Without it, the PATH has to do.
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        let newest = versions.max { (Double($0) ?? 0) < (Double($1) ?? 0) }
        return newest.map { "\(parent)/\($0)/bin" } ?? "/usr/bin"
    }()
}

/// A piece of a document that a test carries out: the fenced block after `<!-- test: NAME -->`.
enum DocumentBlock {
    static func read(_ name: String, in page: String) throws -> String { try read(marked: "test: \(name)", in: page) }

    /// Expects what the page shows below `<!-- shows: NAME -->` in what its commands have printed: each line in its turn,
    /// other lines between them. `…` stands for anything, and one blank for many.
    static func expect(_ name: String, in page: String, of output: String) throws {
        try expect(shown: read(marked: "shows: \(name)", in: page), in: page, of: output)
    }

    /// The same for lines that the page shows elsewhere.
    static func expect(shown: String, in page: String, of output: String) throws {
        var rest = output.split(separator: "\n").map(plain)[...]
        for shown in shown.split(separator: "\n").map(plain) {
            let place = rest.firstIndex { matches($0, shown) }
            guard let place else {
                let left = rest.joined(separator: "\n")
                throw Failure("\(page) shows '\(shown)', which is missing in:\n\(left)\nof\n\(output)")
            }
            rest = rest[(place + 1)...]
        }
    }

    private static func matches(_ line: String, _ shown: String) -> Bool {
        let parts = shown.split(separator: "…", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts.count > 1, let first = parts.first, let last = parts.last else { return line == shown }
        guard line.hasPrefix(first), line.dropFirst(first.count).hasSuffix(last) else { return false }
        var left = line.dropFirst(first.count).dropLast(last.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let range = left.range(of: part) else { return false }
            left = left[range.upperBound...]
        }
        return true
    }

    private static func plain(_ line: Substring) -> String {
        line.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func read(marked name: String, in page: String) throws -> String {
        let text = try String(contentsOf: Places.document(page), encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let mark = lines.firstIndex(of: "<!-- \(name) -->"), lines[mark + 1].hasPrefix("```"),
            let end = lines[(mark + 2)...].firstIndex(of: "```")
        else { throw Failure("\(page) has no block '\(name)'") }
        return lines[(mark + 2)..<end].joined(separator: "\n")
    }
}

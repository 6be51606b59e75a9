import Foundation
import Testing

/// A page of the documents, and the blocks in it.
struct Document: Sendable, CustomTestStringConvertible {
    /// A fenced block.
    struct Block: Sendable {
        let language: String
        /// What a comment on the line before says, such as `test: backup`.
        let mark: String?
        let text: String
    }

    /// The path from the root, such as `docs/guides/backup.md`.
    let path: String

    var testDescription: String { path }

    static let root: URL = {
        // Three steps up: the file, DocumentationTests, Tests.
        var root = URL(fileURLWithPath: #filePath)
        for _ in 1...3 { root.deleteLastPathComponent() }
        return root
    }()

    /// Every page for people: those in the root and those in `docs`, in order.
    static let all: [Document] = {
        ["README.md", "CONTRIBUTING.md"].map(Document.init) + files(in: "docs", ending: ".md").map(Document.init)
    }()

    /// The files of a folder and the folders in it, by their paths from the root.
    static func files(in folder: String, ending: String) -> [String] {
        let start = root.appending(path: folder)
        // A folder that is not there has no files, which the test that looks for them says.
        guard let walk = FileManager.default.enumerator(atPath: start.path) else { return [] }
        return walk.compactMap { ($0 as? String).map { "\(folder)/\($0)" } }.filter { $0.hasSuffix(ending) }.sorted()
    }

    func text() throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    func blocks() throws -> [Block] {
        var blocks: [Block] = []
        var open: (language: String, mark: String?, lines: [Substring])?
        var previous: Substring = ""
        for line in try text().split(separator: "\n", omittingEmptySubsequences: false) {
            if let (language, mark, lines) = open {
                if line == "```" {
                    blocks.append(Block(language: language, mark: mark, text: lines.joined(separator: "\n")))
                    open = nil
                } else {
                    open?.lines.append(line)
                }
            } else if line.hasPrefix("```") {
                open = (String(line.dropFirst(3)), Self.mark(in: previous), [])
            }
            previous = line
        }
        return blocks
    }

    private static func mark(in line: Substring) -> String? {
        guard line.hasPrefix("<!-- "), line.hasSuffix(" -->") else { return nil }
        return String(line.dropFirst(5).dropLast(4))
    }

    /// The cells of every row of every table.
    func tableRows() throws -> [[String]] {
        try text().split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }
}

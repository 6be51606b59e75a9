import Testing

/// Swift in the documents is what is compiled in the folder Snippets.
@Suite("Swift samples")
struct SnippetTests {
    @Test("a sample stands in the document as it is compiled", arguments: ["docs/ios.md", "docs/backend.md"])
    func samples(path: String) throws {
        let blocks = try Document(path: path).blocks().filter { $0.mark?.hasPrefix("snippet: ") == true }
        #expect(!blocks.isEmpty)
        for block in blocks {
            let file = (block.mark ?? "").dropFirst("snippet: ".count)
            let source = try Document(path: "Tests/DocumentationTests/Snippets/\(file)").text()
            #expect(block.text + "\n" == source, "\(path) and \(file) differ")
        }
    }
}

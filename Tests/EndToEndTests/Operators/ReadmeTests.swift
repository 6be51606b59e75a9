import Foundation
import SystemSupport
import Testing

/// What a newcomer does with nothing but the README, against `tallyd dev`.
@Suite("The README")
struct ReadmeTests {
    @Test("First steps, then a type from a Swift file, start, update and end by curl: every line as it is printed")
    func newcomer() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        try FileManager.default.createSymbolicLink(
            at: folder.url.appending(path: "docs"),
            withDestinationURL: Places.document("").standardizedFileURL
        )
        let dev = try await RunningProgram.start("tallyd", ["dev"], in: folder)
        do {
            try await dev.line(beginningWith: "API key and addresses", within: .seconds(120))
            let script = try ["first-steps", "curl"].map { try DocumentBlock.read($0, in: "../README.md") }
            try Self.expect(
                [
                    "Version 1 is registered.", #""state":"live","revision":1"#, "1 of 1 current",
                    #""stage":"onTheWay","arrival":915219000"#, "invalid_content_state", #""stage":"delivered""#,
                    "The end (revision 3) was accepted by APNs",
                ],
                in: try await Shell.run(script.joined(separator: "\n"), in: folder)
            )
            await dev.stop()
        } catch {
            await dev.stop()
            throw error
        }
    }

    /// Expects texts in this order.
    private static func expect(_ steps: [String], in output: String) throws {
        var rest = output[...]
        for step in steps {
            let place = try #require(rest.range(of: step), "'\(step)' is missing in:\n\(rest)")
            rest = rest[place.upperBound...]
        }
    }
}

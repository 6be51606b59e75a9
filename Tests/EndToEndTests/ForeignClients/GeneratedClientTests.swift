import Foundation
import JSON
import SystemSupport
import TestSupport
import Testing

/// A client that a generator of others makes of `docs/openapi.yaml`, as it is.
@Suite("Generated clients", .timeLimit(.minutes(5)))
struct GeneratedClientTests {
    private static let recording = "world-cup-final-2022.json"

    @Test("openapi-python-client makes one without a warning, and it plays a whole match")
    func python() async throws {
        // The generator needs 3.11.
        let version = try await Program.python().run(["-c", "import sys; print(sys.version_info >= (3, 11))"])
        guard version.text.contains("True") else { return }
        try await TallySystem.with { system in
            let script = URL(filePath: #filePath).appending(path: "../../../ForeignPeers/generated_client.py")
            let arguments = [
                script.standardized.path, Places.document("openapi.yaml").path, Places.sample(Self.recording).path,
                system.url, TallySystem.adminKey, "com.example.generated",
            ]
            let output = try await Program.python().run(arguments, within: .seconds(180))
            try #require(output.status == 0, "\(output.text)")
            let outcome = try JSONValue(parsing: String(output.text.split(separator: "\n").last ?? ""))
            let posts = try #require(try Samples.json(Self.recording)["posts"]?.array)
            #expect(outcome["state"] == "ended")
            // One revision for each post.
            #expect(outcome["revision"]?.int64 == Int64(posts.count))
            #expect(outcome["content_state"] == posts.last?["content_state"])
            #expect(outcome["after_the_end"] == "activity_ended")
        }
    }
}

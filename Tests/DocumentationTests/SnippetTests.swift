import Foundation
import Testing

@testable import TallyClient
@testable import TallyKit

/// Swift in the documents is an excerpt of what is compiled: of the sample app, or of a file in the folder Snippets.
@Suite("Swift samples")
struct SnippetTests {
    @Test(
        "an excerpt stands in the document as it is compiled",
        arguments: ["docs/guides/ios.md", "docs/guides/backend.md"]
    )
    func samples(path: String) throws {
        let blocks = try Document(path: path).blocks().filter { $0.mark?.hasPrefix("snippet: ") == true }
        #expect(!blocks.isEmpty)
        for block in blocks {
            let file = (block.mark ?? "").dropFirst("snippet: ".count)
            let folder = file.contains("/") ? "docs/samples/app" : "Tests/DocumentationTests/Snippets"
            let source = try Document(path: "\(folder)/\(file)").text()
            #expect(source.contains("\n" + block.text + "\n"), "\(path) and \(file) differ:\n\(block.text)")
        }
    }

    @Test(
        "The app's request for a ticket is one that the backend reads, and the backend's answer one that the app reads"
    )
    func ticket() throws {
        let request = TicketRequest(
            deviceID: "phone-1",
            environment: "sandbox",
            activities: ["order-1"],
            signedOut: true,
            topics: ["team:ajax"]
        )
        let call = try JSONDecoder().decode(TicketCall.self, from: JSONEncoder().encode(request))
        #expect(call.deviceID == "phone-1" && call.environment == "sandbox")
        #expect(call.activities == ["order-1"] && call.signedOut && call.topics == ["team:ajax"])
        let expiry = Date(timeIntervalSince1970: 1_800_000_000)
        let answer = try JSONEncoder().encode(RegistrationTicket(text: "secret", expiresAt: expiry))
        #expect(try TallyJSON.decoder.decode(Ticket.self, from: answer) == Ticket("secret", expiresAt: expiry))
    }

    @Test("The backend puts only activities into a ticket that its user may see")
    func visibleActivities() async throws {
        let backend = MatchBackend(
            tally: try TallyBackend(url: "http://127.0.0.1:1", key: "unused-key", app: "com.example.matchday"),
            maySee: { user, activity in activity == "order-of-\(user)" }
        )
        #expect(try await backend.visible(["order-of-ada", "order-of-grace"], to: "ada") == ["order-of-ada"])
        #expect(try await backend.visible(["order-of-grace"], to: "ada") == [], "and not every activity of the user")
        #expect(try await backend.visible(nil, to: "ada") == nil)
    }

    @Test("All samples share one GameAttributes: its properties stand everywhere as in docs/samples")
    func oneStruct() throws {
        func properties(_ path: String) throws -> [String] {
            let lines = try Document(path: path).text().split(separator: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }
            let start = try #require(lines.firstIndex { $0.contains("struct GameAttributes:") }, "\(path)")
            let body = lines[(start + 1)...].prefix { !$0.contains("activityId") }
            return (body + lines[(start + 1)...].filter { $0.contains("var activityId") }.prefix(1))
                .map { $0.replacing("package ", with: "") }
                .filter { !$0.hasPrefix("///") }
        }
        let sample = try properties("docs/samples/GameAttributes.swift")
        #expect(sample.filter { $0.hasPrefix("var ") }.count == 11)
        for path in [
            "Tests/DocumentationTests/Snippets/MatchBackend.swift",
            "Sources/APNSSimulator/SampleTypes/GameAttributes.swift",
        ] {
            #expect(try properties(path) == sample, "\(path)")
        }
    }
}

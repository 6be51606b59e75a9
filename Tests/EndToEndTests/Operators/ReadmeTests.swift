import Foundation
import JSON
import SystemSupport
import TestSupport
import Testing

/// What a newcomer does with nothing but the tutorials, against `tallyd dev`.
@Suite("The tutorials")
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
            // One after the other, and the second in the first one's terminal.
            let setUp = "set -a; . .tally/dev.env; set +a; export TALLY_APP=com.example.matchday\n"
            for (name, before) in [("first-steps", ""), ("curl", setUp)] {
                let script = try DocumentBlock.read(name, in: "tutorials/first-card.md")
                let output = try await Shell.run(before + script, in: folder)
                try DocumentBlock.expect(name, in: "tutorials/first-card.md", of: output)
            }
            await dev.stop()
        } catch {
            await dev.stop()
            throw error
        }
    }

    @Test("Getting started, up to the app: the settings are enough for a daemon, and its key for the doctor")
    func settings() async throws {
        try await TallySystem.with { system in
            let page = "tutorials/your-own-app.md"
            let cluster = try await TestCluster.shared
            let settings = try DocumentBlock.read("settings", in: page)
                .replacing("postgres:///tally", with: cluster.url(database: "tutorial"))
                .replacing("template0 tally", with: "template0 --maintenance-db='\(cluster.url())' tutorial")
                .replacing("TALLY_PHONES_PORT=8081", with: "TALLY_PHONES_PORT=0")
            try await Shell.run(settings, in: system.folder)
            let serve = try DocumentBlock.read("serve", in: page).split(separator: " ").map(String.init)
            #expect(serve.first == "tallyd")
            let daemon = try await RunningProgram.start(
                "tallyd",
                Array(serve.dropFirst()),
                environment: ["TALLY_HTTP_PORT": "0"],
                in: system.folder
            )
            let line = try await daemon.line(beginningWith: "listening on", within: .seconds(60))
            let address = try #require(line.split(separator: " ").last)
            let report = try await Shell.run(
                DocumentBlock.read("key", in: page).replacing("http://127.0.0.1:8080", with: address),
                in: system.folder,
                stopsAtFailure: false
            )
            await daemon.stop()
            #expect(report.contains("There is no app with a signing key here."), "\(report)")
        }
    }

    @Test("Getting started, from the app on: every block as it is printed, and it shows what the page says")
    func gettingStarted() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        try FileManager.default.createSymbolicLink(
            at: folder.url.appending(path: "docs"),
            withDestinationURL: Places.document("").standardizedFileURL
        )
        let dev = try await RunningProgram.start("tallyd", ["dev"], in: folder)
        do {
            try await dev.line(beginningWith: "API key and addresses", within: .seconds(120))
            let setUp = "set -a; . .tally/dev.env; set +a; export TALLY_APP=com.example.app\n"
            // What Apple and the phone do.
            try await Shell.run(
                "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey.p8",
                in: folder
            )
            let phone =
                "apns-sim phones create --bundle-id com.example.app --user-prefix fan- --id-attribute activityId --wait 10"
            for name in ["app", "type", "ticket", "devices", "start"] {
                if name == "devices" { try await Shell.run(setUp + phone, in: folder) }
                let block = try DocumentBlock.read(name, in: "tutorials/your-own-app.md")
                // The doctor finds fault with the cluster of the tests, and says so by its exit code.
                let output = try await Shell.run(setUp + block, in: folder, stopsAtFailure: name != "app")
                if !["app", "ticket"].contains(name) {
                    try DocumentBlock.expect(name, in: "tutorials/your-own-app.md", of: output)
                }
            }
            // The schemas of the samples are what the importer makes of the struct, and nothing is doubtful about them.
            let files = "docs/samples/GameAttributes.swift"
            let printed = try await Shell.run("tally types import \(files) --print", in: folder)
            let schemas = try JSONValue(parsing: printed)
            #expect(schemas["attributes_schema"] == (try Samples.json("game-attributes.schema.json")))
            #expect(schemas["content_state_schema"] == (try Samples.json("game-content-state.schema.json")))
            try await Shell.run("tally types lint \(files) --strict", in: folder)
            await dev.stop()
        } catch {
            await dev.stop()
            throw error
        }
    }
}

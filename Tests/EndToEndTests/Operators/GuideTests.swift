import Foundation
import SystemSupport
import TestSupport
import Testing

/// The guides for backends, carried out as they stand against `tallyd dev`.
@Suite("The guides")
struct GuideTests {
    /// What the guides take for granted: the app and its types, as the tutorial makes them.
    private static let world = #"""
        openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey.p8
        tally apps put "$TALLY_APP" --team-id ABCDE12345 --production-key-id ABC123DEFG --production-key-file AuthKey.p8
        tally types put GameAttributes --policy docs/samples/game-policy.json \
            --attributes-schema docs/samples/game-attributes.schema.json \
            --content-state-schema docs/samples/game-content-state.schema.json
        cat > .tally/OrderAttributes.swift <<'SWIFT'
        struct OrderAttributes: ActivityAttributes {
            struct ContentState: Codable, Hashable {
                var stage: Stage
                var arrival: Date?
            }
            enum Stage: String, Codable { case received, onTheWay, delivered }
            var orderID: String
            var restaurant: String
        }
        SWIFT
        echo '{"id_attribute": "orderID"}' > .tally/order-policy.json
        tally types import .tally/OrderAttributes.swift --policy .tally/order-policy.json
        """#

    /// Guides that tell a whole story.
    static let pages = ["order-on-one-phone", "match-by-channel", "app-started-card"]

    @Test(
        "Every block of a guide runs, one after the other, and prints what the guide shows",
        arguments: pages
    )
    func guide(name: String) async throws {
        try await Self.withWorld { run in
            // The guide for one order has the function in Python that the others use.
            let client = try GuideBlocks(page: "guides/order-on-one-phone.md").file(named: "tally_backend.py")
            let guide = try GuideBlocks(page: "guides/\(name).md")
            #expect(guide.languages.isSuperset(of: ["sh", "python", "json", "text"]))
            let output = try await run(client + "\n" + guide.script)
            try DocumentBlock.expect(shown: guide.shown, in: name, of: output)
        }
    }

    @Test("The job of a schedule ends what has been silent, and leaves the rest")
    func silent() async throws {
        try await Self.withWorld { run in
            let start = """
                for id in 1 2; do
                    curl --fail-with-body -sS -X PUT "$TALLY_URL/v1/apps/$TALLY_APP/activities/order-$id" \
                        -H "Authorization: Bearer $TALLY_API_KEY" -H 'Content-Type: application/json' \
                        -d '{"type": "OrderAttributes", "attributes": {"restaurant": "A"}, "content_state": {"stage": "received"}}'
                done
                """
            _ = try await run(start)
            let job = "docs/samples/jobs/tally-end-silent"
            #expect(try await run(job).isEmpty, "nothing has been silent for four hours")
            // A day from now everything has been.
            let ended = try await run("HOURS=-24 \(job) | sort")
            #expect(ended == "ended order-1\nended order-2\n")
            #expect(try await run("tally activities list --state live --json | grep -c order- || true") == "0\n")
        }
    }

    /// Starts `tallyd dev`, makes the world, and lends a shell in it.
    static func withWorld(
        _ body: (_ run: (String) async throws -> String) async throws -> Void
    ) async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        try FileManager.default.createSymbolicLink(
            at: folder.url.appending(path: "docs"),
            withDestinationURL: Places.document("").standardizedFileURL
        )
        let python = try Program.python().path
        let setUp = """
            set -a; . .tally/dev.env; set +a
            export TALLY_APP=com.example.matchday PATH=\((python as NSString).deletingLastPathComponent):$PATH

            """
        let dev = try await RunningProgram.start("tallyd", ["dev"], in: folder)
        do {
            try await dev.line(beginningWith: "API key and addresses", within: .seconds(120))
            try await Shell.run(setUp + world, in: folder)
            try await body { try await Shell.run(setUp + $0, in: folder) }
            await dev.stop()
        } catch {
            await dev.stop()
            throw error
        }
    }
}

/// The fenced blocks of a guide: commands to run, and what they print.
struct GuideBlocks {
    private let blocks: [(language: String, text: String)]

    init(page: String) throws {
        let text = try String(contentsOf: Places.document(page), encoding: .utf8)
        blocks = text.matches(of: /(?m)^```(\w+)\n((?:(?!```).*\n)*)```$/).map {
            (String($0.output.1), String($0.output.2))
        }
    }

    var languages: Set<String> { Set(blocks.map(\.language)) }

    /// All commands as one script. A block in Python runs at once, or is saved if its first line is `# NAME.py`.
    var script: String {
        blocks.compactMap { language, text in
            switch language {
            case "sh": text
            case "python": Self.python(text)
            default: nil
            }
        }
        .joined(separator: "\n")
    }

    /// All that the guide shows, in order.
    var shown: String { blocks.filter { ["json", "text"].contains($0.language) }.map(\.text).joined() }

    /// The commands that save the block with this name.
    func file(named name: String) throws -> String {
        guard let block = blocks.first(where: { $0.text.hasPrefix("# \(name)\n") }) else {
            throw Failure("there is no block '\(name)'")
        }
        return Self.python(block.text)
    }

    private static func python(_ text: String) -> String {
        let name = text.firstMatch(of: /^# (\w+\.py)\n/)?.output.1
        return (name.map { "cat > \($0)" } ?? "python3 -") + " <<'PYTHON'\n\(text)PYTHON\n"
    }
}

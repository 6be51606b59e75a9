import Foundation
import SystemSupport
import TestSupport
import Testing

/// The commands on pages that show no whole story: each runs in a world that has what it names.
@Suite("The commands on every page")
struct PageCommandTests {
    /// Pages whose blocks run here, one after the other.
    static let pages = [
        "README.md", "guides/backend.md", "guides/console.md", "guides/on-call.md", "guides/release-app-version.md",
        "guides/scheduled-end.md", "reference/channels.md", "reference/command-line.md", "reference/configuration.md",
        "reference/events.md", "reference/policy.md", "reference/schemas.md", "reference/tickets.md",
        "reference/verdicts.md", "reference/webhooks.md",
    ]

    /// Pages that another test runs as a whole.
    private static let others = GuideTests.pages.map { "guides/\($0).md" }

    /// Words of blocks that need another machine, and what tries them instead.
    private static let elsewhere = [
        "apt-get", "docker", "kubectl", "systemctl",  // parsed by DeploymentSampleTests and KubernetesSampleTests
        "/etc/haproxy",  // ProxyTests
        "/etc/bash_completion.d",  // OperatorTests
        "/etc/tally", "/usr/local/bin",  // FirstStepsTests, DeploymentSampleTests and JobSampleTests
        "https://tally.example.com",  // OperatorTests, with an address that is there
        "swift build",  // tools/quickstart
        "tools/",
    ]

    private struct Block {
        let text: String
        let isMarked: Bool
        var runsElsewhere: Bool { PageCommandTests.elsewhere.contains { text.contains($0) } }
    }

    private static func blocks(_ page: String) throws -> [Block] {
        let path = page == "README.md" ? "../README.md" : page
        let text = try String(contentsOf: Places.document(path), encoding: .utf8)
        return text.matches(of: /(?m)^(.*)\n```sh\n((?:(?!```).*\n)*)```$/).map { match in
            let mark = match.output.1
            let isMarked = mark.hasPrefix("<!-- test: ") || mark.hasPrefix("<!-- quickstart: ")
            return Block(text: String(match.output.2), isMarked: isMarked)
        }
    }

    @Test("Each block runs as it is printed", arguments: pages)
    func commands(page: String) async throws {
        let blocks = try Self.blocks(page).filter { !$0.isMarked && !$0.runsElsewhere }
        #expect(!blocks.isEmpty)
        try await GuideTests.withWorld { run in
            _ = try await run(Self.world)
            for block in blocks { _ = try await run(Self.shell + block.text) }
            guard page == "README.md" else { return }
            let readme = try String(contentsOf: Places.document("../README.md"), encoding: .utf8)
            let shown = try #require(readme.firstMatch(of: /```text\n(final on readme-1(?:.*\n)*?)```/)).output.1
            let story = try await run(
                "tally activities watch final --until-current\ntally activities explain final --device readme-1"
            )
            // The verdict; the page has a part of the story below it, of another day.
            let verdict = shown.split(separator: "\n").prefix(3).joined(separator: "\n")
            try DocumentBlock.expect(shown: verdict, in: page, of: story)
        }
    }

    @Test("The files with secrets are those that the sample for compose names, and nobody else reads them")
    func composeSecrets() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        let deploy = folder.url.appending(path: "docs/samples/deploy")
        try FileManager.default.createDirectory(at: deploy, withIntermediateDirectories: true)
        let steps = try DocumentBlock.read("compose-secrets", in: "guides/deploy.md")
        let mode = try await Shell.run(steps + "\nstat -c %a secrets", in: folder)
        #expect(mode == "700\n")
        let compose = try String(contentsOf: Places.document("samples/deploy/compose.yaml"), encoding: .utf8)
        let named = Set(compose.matches(of: /file: \.\/secrets\/([a-z-]+)/).map { String($0.output.1) })
        let made = try FileManager.default.contentsOfDirectory(atPath: deploy.appending(path: "secrets").path)
        #expect(named.count == 4 && named == Set(made))
    }

    @Test("No page for users has a block that nothing runs")
    func complete() throws {
        let root = Places.document("")
        let files = try #require(FileManager.default.enumerator(atPath: root.path))
        let users = files.compactMap { $0 as? String }.filter { $0.hasSuffix(".md") && !$0.hasPrefix("internals") }
        #expect(users.count > 25)
        for page in users where !Self.pages.contains(page) && !Self.others.contains(page) {
            for block in try Self.blocks(page) where !block.isMarked && !block.runsElsewhere {
                Issue.record("\(page) shows what nothing runs:\n\(block.text)")
            }
        }
    }

    /// What the pages take for granted besides the app and its types.
    private static let world = #"""
        apns-sim phones create --count 2 --bundle-id "$TALLY_APP" --environment production --id-attribute activityId --wait 10
        apns-sim phones create --prefix readme- --bundle-id "$TALLY_APP" --environment production \
            --id-attribute activityId --wait 10
        for match in match-1:phone-1 final:readme-1; do
            tally activities start "${match%:*}" --type GameAttributes --device "${match#*:}" \
                --attributes '{"homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"}' \
                --content-state '{"homeScore": 0, "awayScore": 0, "minute": 0, "period": "firstHalf"}' \
                --alert-title 'Ajax – PSV' --alert-body 'Kick-off'
            tally activities watch "${match%:*}" --until-current --timeout 60
        done
        # The struct of the next version of the app, and others that it may need.
        sed 's/^\( *\)var lastEvent: String?/&\n\1var stadium: String?/' docs/samples/GameAttributes.swift > GameAttributes.swift
        grep -q stadium GameAttributes.swift
        echo 'struct Team: Codable { var name: String }' > Team.swift
        cat > Game.swift <<'SWIFT'
        struct Game: ActivityAttributes {
            struct ContentState: Codable, Hashable { var prize: Money? }
            var name: String
        }
        SWIFT
        echo '{"type": "string"}' > money.schema.json
        echo '{"id_attribute": "activityId"}' > policy.json
        """#

    /// A stream of events ends here after a moment, and the doctor may find fault with the cluster of the tests.
    private static let shell = #"""
        curl() { command curl --max-time 3 "$@" || [ $? = 28 ]; }
        tally() { command tally "$@" || [ "$1" = doctor ]; }

        """#
}

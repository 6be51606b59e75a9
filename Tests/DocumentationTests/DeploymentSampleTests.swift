import ArgumentParser
import Foundation
import JSON
import TestSupport
import Testing

@testable import tallyd

/// The files in docs/samples/deploy, read by the programs that they are for, or by a parser of their language.
@Suite("Samples for deployment")
struct DeploymentSampleTests {
    private static func sample(_ name: String) -> URL { Document.root.appending(path: "docs/samples/\(name)") }

    @Test("the lines of tally.env are settings that exist")
    func environmentFile() throws {
        let text = try String(contentsOf: Self.sample("deploy/tally.env"), encoding: .utf8)
        let names = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
            $0.split(separator: "=").first
        }
        #expect(!names.isEmpty)
        for name in names { #expect(DaemonConfiguration.keys.contains { $0.name == name }, "\(name)") }
    }

    @Test("the steps fill in every setting that tally.env leaves empty")
    func emptySettings() throws {
        let text = try String(contentsOf: Self.sample("deploy/tally.env"), encoding: .utf8)
        let page = try Document(path: "docs/guides/deploy.md").text()
        let empty = text.split(separator: "\n").filter { $0.hasSuffix("=") }
        #expect(empty == ["TALLY_BOOTSTRAP_KEY="])
        for line in empty { #expect(page.contains("sed -i \"s|^\(line).*|\(line)$(openssl"), "\(line)") }
        let credential = "/etc/tally/master-key"
        #expect(page.contains("(umask 077 && openssl rand -base64 32 > \(credential))"))
        for name in ["tallyd", "tallyd-migrate"] {
            let settings = try Self.unit(name)
            #expect(settings["[Service]LoadCredential"] == "master-key:\(credential)")
            #expect(settings["[Service]Environment"] == "TALLY_MASTER_KEY_FILE=%d/master-key")
        }
    }

    @Test("the settings for a large Postgres are those that the costs were measured with")
    func postgres() throws {
        let sample = try String(contentsOf: Self.sample("deploy/postgresql.conf"), encoding: .utf8)
        let measured = try Document(path: "tools/lib/bench/operations.py").text()
        let settings = sample.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(settings.count == 5)
        for setting in settings {
            let parts = setting.split(separator: " = ")
            try #require(parts.count == 2, "\(setting)")
            #expect(measured.contains("\"\(parts[0])\": \"\(parts[1])\","), "\(setting)")
        }
    }

    @Test("the unit drains for longer than the daemon takes, and migrates nothing by itself")
    func unit() throws {
        let settings = try Self.unit("tallyd")
        #expect(settings["[Service]ExecStart"] == "/usr/local/bin/tallyd serve")
        #expect(settings["[Service]ExecStartPre"] == nil)
        #expect((Int(settings["[Service]TimeoutStopSec"] ?? "") ?? 0) > 30)
        #expect(settings["[Install]WantedBy"] == "multi-user.target")
    }

    @Test("migrations are a unit of their own, which runs once, as the same user and with the same settings and walls")
    func migrationUnit() throws {
        let daemon = try Self.unit("tallyd")
        let migration = try Self.unit("tallyd-migrate")
        #expect(migration["[Service]Type"] == "oneshot")
        #expect(migration["[Service]ExecStart"] == "/usr/local/bin/tallyd migrate")
        #expect(try Tallyd.parseAsRoot(["migrate"]) is Migrate)
        #expect(migration.keys.allSatisfy { !$0.hasPrefix("[Install]") }, "nothing starts it but an operator")
        let own = ["Type", "ExecStart", "Restart", "RestartSec", "TimeoutStopSec", "LimitNOFILE"]
            .map { "[Service]\($0)" }
        for (name, value) in daemon where name.hasPrefix("[Service]") && !own.contains(name) {
            #expect(migration[name] == value, "\(name)")
        }
        for page in ["docs/guides/deploy.md", "docs/guides/upgrade.md"] {
            #expect(try Document(path: page).text().contains("\nsystemctl start tallyd-migrate\n"), "\(page)")
        }
    }

    @Test(
        "systemd takes the units, and finds little that the daemon could reach",
        .enabled(if: Systemd.isInstalled, "systemd-analyze is not installed")
    )
    func systemd() async throws {
        var units: [String: String] = [:]
        for name in ["tallyd.service", "tallyd-migrate.service"] {
            // It wants the program to exist.
            units[name] = try String(contentsOf: Self.sample("deploy/\(name)"), encoding: .utf8)
                .replacing("/usr/local/bin/tallyd", with: "/bin/true")
        }
        let verified = try await Systemd.analyze("verify", units: units)
        #expect(verified.status == 0 && verified.text.isEmpty, "\(verified.text)")
        // Of 100, where a unit without any protection has 96.
        let rated = try await Systemd.analyze("security", "--offline=true", "--threshold=20", units: units)
        #expect(rated.status == 0, "\(rated.text)")
    }

    /// The settings of a unit by section and name. Every line is one that systemd understands.
    private static func unit(_ name: String) throws -> [String: String] {
        let text = try String(contentsOf: sample("deploy/\(name).service"), encoding: .utf8)
        var section = ""
        var settings: [String: String] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("[") {
                section = String(line)
            } else {
                let parts = line.split(separator: "=", maxSplits: 1)
                #expect(parts.count > 0 && line.contains("="), "\(line)")
                settings["\(section)\(parts[0])"] = parts.count > 1 ? String(parts[1]) : ""
            }
        }
        #expect(settings["[Service]NoNewPrivileges"] == "yes")
        #expect(settings["[Service]CapabilityBoundingSet"] == "")
        return settings
    }

    @Test("compose.yaml and alerts.yaml are YAML with what they should have")
    func yaml() async throws {
        let script = """
            import json, sys, yaml
            print(json.dumps([yaml.safe_load(open(path)) for path in sys.argv[1:]]))
            """
        let paths = ["deploy/compose.yaml", "monitoring/alerts.yaml"].map { Self.sample($0).path }
        let output = try await Program.python().run(["-c", script] + paths)
        #expect(output.status == 0, "\(output.text)")
        let documents = try #require(try JSONValue(parsing: output.text).array)
        let services = try #require(documents[0]["services"])
        #expect(services["migrate"]?["command"]?.array == ["migrate"])
        #expect(services["tally"]?["cap_drop"]?.array == ["ALL"])
        #expect(services["tally"]?["depends_on"]?["migrate"]?["condition"]?.string == "service_completed_successfully")
        let ignored = try String(contentsOf: Document.root.appending(path: ".gitignore"), encoding: .utf8)
            .split(separator: "\n")
        #expect(ignored.contains("/docs/samples/deploy/secrets/"), "what holds secrets is not for git")
        let secrets = documents[0]["secrets"]?.object?.entries ?? []
        #expect(secrets.count == 4)
        for (name, secret) in secrets { #expect(secret["file"]?.string == "./secrets/\(name)") }
        for service in ["migrate", "tally"] {
            let names = services[service]?["secrets"]?.array?.compactMap(\.string) ?? []
            #expect(names.allSatisfy { name in secrets.contains { $0.key == name } })
            for (name, value) in services[service]?["environment"]?.object?.entries ?? [] {
                #expect(DaemonConfiguration.keys.contains { [$0.name, $0.fileName].contains(name) }, "\(name)")
                guard let path = value.string, path.hasPrefix("/run/") else { continue }
                #expect(names.contains { path == "/run/secrets/\($0)" }, "\(path)")
            }
        }
        let rules = try #require(documents[1]["groups"]?.array?.first?["rules"]?.array)
        for rule in rules {
            #expect(rule["expr"]?.string?.contains("tally") == true)
            #expect(["page", "ticket"].contains(rule["labels"]?["severity"]?.string ?? ""))
            #expect(rule["annotations"]?["summary"]?.string?.isEmpty == false)
        }
    }

    @Test("the image is built from every folder that the manifest names and all that is linked to, without secrets")
    func dockerignore() throws {
        let patterns = try Document(path: ".dockerignore").text().split(separator: "\n").filter { !$0.hasPrefix("#") }
        let manifest = try Document(path: "Package.swift").text()
        // The programs of tools/bench are no part of an ordinary build.
        let benches = try #require(manifest.range(of: "if Context.environment[\"TALLY_BENCHES\"]"))
        let paths = manifest[..<benches.lowerBound].matches(of: /path: "([^"]+)"/).map { String($0.output.1) }
        #expect(paths.contains("docs/samples/app/App"))
        let targets = Set((["Sources", "Tests", "Plugins"] + paths).flatMap(Self.linkTargets))
        #expect(targets.contains("docs/samples/GameAttributes.swift"))
        for path in paths + targets { #expect(Self.isKept(path, patterns), "\(path)") }
        for path in ["docs/samples/deploy/secrets/master-key", ".git/config", ".build/debug.yaml", ".tally/api-key"] {
            #expect(!Self.isKept(path, patterns), "\(path)")
        }
    }

    /// Where the symbolic links in a folder lead, as paths from the root.
    private static func linkTargets(in folder: String) -> [String] {
        let root = Document.root.resolvingSymlinksInPath()
        let files = FileManager.default.enumerator(
            at: root.appending(path: folder),
            includingPropertiesForKeys: [.isSymbolicLinkKey]
        )
        let links = (files?.compactMap { $0 as? URL } ?? []).filter { url in
            (try? url.resourceValues(forKeys: [.isSymbolicLinkKey]))?.isSymbolicLink == true  // none that can be read
        }
        return links.map { String($0.resolvingSymlinksInPath().path.dropFirst(root.path.count + 1)) }
    }

    /// Whether Docker copies a file or folder. The last pattern that matches it, or a folder above it, decides.
    private static func isKept(_ path: String, _ patterns: [Substring]) -> Bool {
        let names = path.split(separator: "/")
        let pattern = patterns.last { pattern in
            let parts = pattern.drop { $0 == "!" }.split(separator: "/")
            return parts.count <= names.count && zip(parts, names).allSatisfy { $0 == "*" || $0 == $1 }
        }
        return pattern?.hasPrefix("!") ?? true
    }

    @Test("the Dockerfile builds products that exist, and runs as nobody in particular")
    func dockerfile() throws {
        let text = try String(contentsOf: Document.root.appending(path: "Dockerfile"), encoding: .utf8)
        let manifest = try String(contentsOf: Document.root.appending(path: "Package.swift"), encoding: .utf8)
        let products = text.matches(of: /--product ([a-z-]+)/).map { String($0.output.1) }
        #expect(products == ["tallyd", "tally", "tally-import"])
        for product in products { #expect(manifest.contains("name: \"\(product)\"")) }
        let lines = text.split(separator: "\n").map(String.init)
        let stages = lines.filter { $0.hasPrefix("FROM ") }
        #expect(stages.count == 2)
        #expect(lines.contains("USER 10001"))
        #expect(lines.contains { $0.hasPrefix("HEALTHCHECK") && $0.contains(#"["tallyd", "health"]"#) })
        #expect(try Tallyd.parseAsRoot(["health"]) is Health)
        #expect(try Tallyd.parseAsRoot(["serve"]) is Serve)
    }
}

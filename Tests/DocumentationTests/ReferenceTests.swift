import APITypes
import Foundation
import JSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import tallyd

/// Lists in the documents are whole, and name nothing that does not exist.
@Suite("References in the documents")
struct ReferenceTests {
    @Test("configuration.md has every setting, and no other")
    func configuration() throws {
        let rows = try Document(path: "docs/reference/configuration.md").tableRows()
        let documented = rows.compactMap(\.first).filter { $0.hasPrefix("`TALLY_") }
            .map { $0.trimmingCharacters(in: ["`"]) }
        #expect(Set(documented) == Set(DaemonConfiguration.keys.map(\.name)))
        #expect(documented.count == Set(documented).count)
    }

    @Test("metrics.md has every metric of the sources, and no other")
    func metrics() throws {
        let documented = Set(
            try Document(path: "docs/reference/metrics.md").tableRows().compactMap(\.first)
                .filter { $0.hasPrefix("`tally_") || $0.hasPrefix("`process_") }
                .map { $0.trimmingCharacters(in: ["`"]) }
        )
        let inSources = try Self.metricsOfTheSources()
        #expect(inSources.count > 10)
        #expect(documented.subtracting(inSources) == [])
        #expect(inSources.subtracting(documented) == [])
        #expect(Set(MetricHelp.texts.keys) == documented, "each has its line of `# HELP`")
    }

    @Test("alerts and dashboard use no metric that is not documented, and every alert has its section in the runbook")
    func alerts() throws {
        let documented = try Document(path: "docs/reference/metrics.md").text()
        let alerts = try Document(path: "docs/samples/monitoring/alerts.yaml").text()
        let dashboard = try Document(path: "docs/samples/monitoring/dashboard.json").text()
        #expect(try JSONValue(parsing: dashboard)["panels"]?.array?.isEmpty == false)
        for name in (alerts + dashboard).matches(of: /tally_[a-z_]+/).map({ String($0.output) }) {
            let family = name.replacing(/_(bucket|sum|count)$/, with: "")
            #expect(documented.contains("`\(family)`") || documented.contains("`\(name)`"), "\(name)")
        }
        let names = Set(alerts.matches(of: /alert: ([A-Za-z]+)/).map { String($0.output.1) })
        let sections = Set(
            try Document(path: "docs/guides/on-call.md").text().matches(of: /\n### (Tally[A-Za-z]+)/).map {
                String($0.output.1)
            }
        )
        #expect(names.count > 10)
        #expect(names == sections)
        for name in names { #expect(alerts.contains("docs/guides/on-call.md#\(name.lowercased())")) }
    }

    @Test("the page at /docs is made of the document as it is")
    func reference() async throws {
        let maker = Document.root.appending(path: "tools/lib/reference/reference.py").path
        let output = try await Program.python().run([maker, "--check"])
        #expect(output.status == 0, "\(output.text)")
    }

    @Test("errors.md has a row for every code of the API, and so the daemon has a page about it")
    func errorCodes() throws {
        var codes: Set<String> = []
        for path in Document.files(in: "Sources/APITypes/Problems", ending: ".swift")
        where !path.hasSuffix("FieldError.swift") {
            let text = try Document(path: path).text()
            for match in text.matches(of: /Problem\(\d+, "([a-z_]+)"/) { codes.insert(String(match.output.1)) }
            for match in text.matches(of: /conflict\(\s*"([a-z_]+)"/) { codes.insert(String(match.output.1)) }
            for match in text.matches(of: /static let [a-zA-Z]+ = "([a-z_]+)"/) { codes.insert(String(match.output.1)) }
        }
        #expect(codes.count > 30)
        #expect(ErrorPages.ofTheAPI.codes.sorted() == codes.sorted())
    }

    @Test("the dashboard and the alerts tell no answer of success from another, and none calls one a failure")
    func successes() throws {
        let samples = try ["alerts.yaml", "dashboard.json"].map {
            try Document(path: "docs/samples/monitoring/\($0)").text().replacing(#"\""#, with: "\"")
        }
        let matchers = samples.joined().matches(of: /status(=~|!~|!=|=)"([^"]*)"/)
        #expect(matchers.count > 5)
        for matcher in matchers {
            let sign = matcher.output.1
            let status = try Regex(String(matcher.output.2))
            for success in ["200", "201", "204"] {
                #expect((success.wholeMatch(of: status) != nil) == sign.hasPrefix("!"), "\(matcher.output.0)")
            }
        }
    }

    @Test("somebody is paged when most pushes come to nothing")
    func pages() throws {
        let alerts = try Document(path: "docs/samples/monitoring/alerts.yaml").text()
        let rule = try #require(alerts.split(separator: "- alert: ").first { $0.hasPrefix("TallyAPNsDown") })
        for part in ["> 0.5 *", "for: 2m", "severity: page"] { #expect(rule.contains(part), "\(part)") }
    }

    @Test("somebody is paged when Prometheus knows no daemon any more")
    func absence() throws {
        let alerts = try Document(path: "docs/samples/monitoring/alerts.yaml").text()
        #expect(alerts.contains(#"expr: up{job="tally"} == 0 or absent(up{job="tally"})"#))
    }

    @Test("every counter without labels is on the first page, so that its first increase is seen")
    func firstPage() throws {
        let metrics = PrometheusMetrics()
        DaemonMetrics.startCounters(metrics)
        metrics.readProcess()
        let lines = metrics.render().split(separator: "\n")
        let counters = try Document(path: "docs/reference/metrics.md").tableRows()
            .filter { $0.count > 2 && $0[1] == "counter" && $0[2].isEmpty }
            .map { $0[0].trimmingCharacters(in: ["`"]) }
        #expect(counters.count >= 5)
        for name in counters { #expect(lines.contains { $0.hasPrefix("\(name) ") }, "\(name)") }
        let started = counters.filter { $0.hasPrefix("tally_") }
        for name in started { #expect(lines.contains("\(name) 0"), "\(name)") }
    }

    @Test("what the runbook quotes from the log is logged")
    func logLines() throws {
        let quoted = try Document(path: "docs/guides/on-call.md").text().matches(of: /"([a-z][a-z ]+)"/).map(\.output.1)
        #expect(quoted.count >= 3)
        let sources = try Document.files(in: "Sources", ending: ".swift").map { try Document(path: $0).text() }
        for line in quoted { #expect(sources.contains { $0.contains("\"\(line)\"") }, "\(line)") }
    }

    @Test("what the page about upgrades quotes is what a daemon says")
    func refusals() throws {
        let quoted = try Document(path: "docs/guides/upgrade.md").text().matches(of: /"… ([A-Za-z ]+) …"/)
            .map(\.output.1)
        #expect(quoted.count == 4)
        let sources = try Document.files(in: "Sources/Postgres/Migrations", ending: ".swift")
            .map { try Document(path: $0).text() }
        for words in quoted { #expect(sources.contains { $0.contains(words) }, "\(words)") }
    }

    @Test("the changelog begins with the version of the programs")
    func version() throws {
        let changelog = try Document(path: "CHANGELOG.md").text()
        let newest = changelog.firstMatch(of: /\n## (\S+)/)?.output.1
        #expect(newest.map(String.init) == ProgramVersion.current)
    }

    @Test("every answer of APNs that an operator has to act upon raises the alert, and has its word in the runbook")
    func credentials() throws {
        let alerts = try Document(path: "docs/samples/monitoring/alerts.yaml").text()
        let rule = try #require(alerts.split(separator: "- alert: ").first { $0.hasPrefix("TallyCredentialRefused") })
        let runbook = try Document(path: "docs/guides/on-call.md").text()
        let rows = try Document(path: "docs/reference/apns-answers.md").tableRows().filter { $0[3] == "`credential`" }
        #expect(rows.count > 10)
        for row in rows where row[1] != "403" {
            let reason = row[2].replacing("`", with: "")
            #expect(rule.matches(of: /\w+/).contains { $0.output == reason }, "\(reason)")
            #expect(runbook.contains(row[2]), "\(reason)")
        }
    }

    @Test("every link between documents leads somewhere", arguments: Document.all)
    func links(page: Document) throws {
        let folder = Document.root.appending(path: page.path).deletingLastPathComponent()
        for link in try page.text().matches(of: /\]\(([^)#\s]+)(#[^)]*)?\)/).map({ String($0.output.1) })
        where !link.contains("://") && !link.hasPrefix("mailto:") {
            let target = folder.appending(path: link).standardizedFileURL
            #expect(FileManager.default.fileExists(atPath: target.path), "\(link)")
        }
    }

    @Test("every link to a heading finds one", arguments: Document.all)
    func anchors(page: Document) throws {
        let folder = Document.root.appending(path: page.path).deletingLastPathComponent()
        for link in try page.text().matches(of: /\]\(([^)#\s]*)#([^)\s]+)\)/) {
            let (path, anchor) = (String(link.output.1), String(link.output.2))
            guard !path.contains("://"), path.isEmpty || path.hasSuffix(".md") else { continue }
            let target = path.isEmpty ? page.path : folder.appending(path: path).standardizedFileURL.path
            let headings = try String(
                contentsOf: URL(filePath: target, relativeTo: Document.root.appending(path: "/")),
                encoding: .utf8
            )
            #expect(Self.anchors(in: headings).contains(anchor), "\(link.output.0)")
        }
    }

    /// The anchors that a forge gives to headings.
    private static func anchors(in text: String) -> Set<String> {
        Set(
            text.matches(of: /(?m)^#{1,6} (.+)$/).map { heading in
                heading.output.1.replacing(/\]\([^)]*\)/, with: "").lowercased()
                    .filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
                    .replacing(" ", with: "-")
            }
        )
    }

    /// The names under which the labels in the sources are served.
    private static func metricsOfTheSources() throws -> Set<String> {
        var names: Set<String> = []
        for path in Document.files(in: "Sources", ending: ".swift") {
            let text = try Document(path: path).text()
            for match in text.matches(
                of: /(Counter|Gauge|Timer|gauge)?\(?\s*(?:label: )?"((?:tally|process)[_.][a-z_.]*[a-z])"/
            ) {
                let label = String(match.output.2)
                // The channel of LISTEN and NOTIFY, a lock, and the type of a webhook's message.
                guard !["tally_work", "process_id", "tally.events"].contains(label), !label.hasPrefix("tally.app")
                else { continue }
                names.insert(label.replacing(".", with: "_"))
            }
        }
        return Set(names.map { Self.served[$0] ?? $0 })
    }

    /// Labels of which Prometheus has another name, because counters and timers have suffixes.
    private static let served = [
        "tally_http_requests": "tally_http_requests_total",
        "tally_http_request_duration": "tally_http_request_duration_seconds",
    ]
}

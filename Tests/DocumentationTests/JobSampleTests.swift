import Foundation
import JSON
import TestSupport
import Testing

/// The files in docs/samples/jobs, read by the programs that they are for where these are installed.
@Suite("Samples of scheduled jobs")
struct JobSampleTests {
    private static let folder = "docs/samples/jobs"

    private static func text(_ ending: String) throws -> String {
        try Document(path: "\(folder)/tally-end-silent\(ending)").text()
    }

    @Test("the guide names every file, and shows a part of the script as it is")
    func guide() throws {
        let page = Document(path: "docs/guides/scheduled-end.md")
        let files = Document.files(in: Self.folder, ending: "")
        #expect(files.count == 5)
        for file in files { #expect(try page.text().contains("(../\(file.dropFirst(5)))"), "\(file)") }
        let excerpts = try page.blocks().filter { $0.mark == "excerpt: \(Self.folder)/tally-end-silent" }
        #expect(excerpts.count == 1)
        for excerpt in excerpts { #expect(try Self.text("").contains(excerpt.text + "\n")) }
    }

    @Test("the line for cron has five times, a user, and a command that sh can read")
    func cron() async throws {
        let line = try #require(try Self.text(".cron").split(separator: "\n").first { !$0.hasPrefix("#") })
        let fields = line.split(separator: " ", maxSplits: 6)
        #expect(fields.count == 7)
        for field in fields.prefix(5) { #expect(field.wholeMatch(of: /\*(\/\d+)?|\d+/) != nil, "\(field)") }
        #expect(fields[5] == "tally-jobs")
        #expect(!fields[6].contains("%"), "cron would end the line there")
        let checked = try await Program("sh").run(["-n", "-c", String(fields[6])])
        #expect(checked.status == 0, "\(checked.text)")
        #expect(try Self.text(".cron").hasSuffix("\n"), "cron ignores a last line without an end")
    }

    @Test("the service runs the script where the guide installs it")
    func service() throws {
        let script = Document.root.appending(path: "\(Self.folder)/tally-end-silent").path
        #expect(FileManager.default.isExecutableFile(atPath: script))
        #expect(try Self.text(".service").contains("\nExecStart=/usr/local/bin/tally-end-silent\n"))
    }

    @Test(
        "systemd takes the service and its timer",
        .enabled(if: Systemd.isInstalled, "systemd-analyze is not installed")
    )
    func systemd() async throws {
        // It wants the program to exist.
        let service = try Self.text(".service").replacing("/usr/local/bin/tally-end-silent", with: "/bin/true")
        let units = ["tally-end-silent.service": service, "tally-end-silent.timer": try Self.text(".timer")]
        let checked = try await Systemd.analyze("verify", units: units)
        #expect(checked.status == 0 && checked.text.isEmpty, "\(checked.text)")
    }

    @Test("the CronJob mounts the script and gets the settings that the script asks for")
    func kubernetes() async throws {
        let reading = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))"
        let path = Document.root.appending(path: "\(Self.folder)/tally-end-silent.yaml").path
        let output = try await Program.python().run(["-c", reading, path])
        let job = try JSONValue(parsing: output.text)
        #expect(job["apiVersion"] == "batch/v1")
        #expect(job["kind"] == "CronJob")
        #expect(job["spec"]?["concurrencyPolicy"] == "Forbid")
        let template = try #require(job["spec"]?["jobTemplate"]?["spec"]?["template"])
        let pod = try #require(template["spec"])
        let policy = try Document(path: "docs/samples/deploy/kubernetes/network-policy.yaml").text()
        #expect(policy.contains("matchLabels: {tally-client: \"true\"}"))
        #expect(template["metadata"]?["labels"]?["tally-client"] == "true", "the network policy keeps out all others")
        #expect(pod["restartPolicy"] == "Never")
        let container = try #require(pod["containers"]?.array?.first)
        let mount = try #require(container["volumeMounts"]?.array?.first)
        #expect(container["command"]?.array?.last?.string == "\(mount["mountPath"]?.string ?? "")/tally-end-silent")
        #expect(pod["volumes"]?.array?.first?["name"] == mount["name"])
        #expect(pod["volumes"]?.array?.first?["configMap"]?["name"] == "tally-end-silent")
        let secret = container["envFrom"]?.array?.first?["secretRef"]?["name"]?.string ?? ""
        let guide = try Document(path: "docs/guides/scheduled-end.md").text()
        #expect(guide.contains("kubectl create secret generic \(secret) "))
        for match in try Self.text("").matches(of: /environ\['([A-Z_]+)'\]/) {
            #expect(guide.contains("--from-literal=\(match.output.1)="), "\(match.output.1)")
        }
    }
}

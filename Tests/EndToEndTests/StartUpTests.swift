import APITypes
import Foundation
import Glibc
import JSON
import Postgres
import SystemSupport
import TestSupport
import Testing

@Suite("Starting tallyd")
struct StartUpTests {
    @Test("serve refuses a database that is not migrated, and migrate is what it asks for")
    func refusesUnmigratedDatabase() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        try await withDatabase { database in
            let name = try await database.query("SELECT current_database()").first(as: String.self) ?? ""
            let settings = Self.settings(databaseURL: try await TestCluster.shared.url(database: name))

            let refused = try await RunningProgram.run("tallyd", ["serve"], environment: settings, in: folder)
            #expect(refused.ending != .exited(0))
            #expect(!refused.output.contains("listening"))
            #expect(refused.errors.contains("migrate"), "\(refused.errors)")

            let json = settings.merging(["TALLY_LOG_FORMAT": "json"]) { $1 }
            let logged = try await RunningProgram.run("tallyd", ["serve"], environment: json, in: folder)
            #expect(logged.ending == .exited(1))
            let lines = try logged.errors.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
            #expect(lines.last?["level"]?.string == "critical")
            #expect(lines.last?["message"]?.string?.contains("migrate") == true, "\(logged.errors)")

            let first = try await RunningProgram.run("tallyd", ["migrate"], environment: settings, in: folder)
            #expect(first.ending == .exited(0))
            #expect(first.output.contains("applied V1 "))
            let again = try await RunningProgram.run("tallyd", ["migrate"], environment: settings, in: folder)
            #expect(again.ending == .exited(0))
            #expect(again.output.contains("nothing to do"))

            let misspelt = settings.merging(["TALLY_HTTP_PROT": "hunter2"]) { $1 }
            let daemon = try await RunningProgram.start("tallyd", ["serve"], environment: misspelt, in: folder)
            let line = try await daemon.line(beginningWith: "listening on ")
            let address = line.dropFirst("listening on ".count)
            #expect(URL(string: String(address))?.port ?? 0 > 0, "port 0 takes a free one")
            #expect(try await HTTPCaller(base: String(address)).send("GET", "/health/ready").status == 200)
            let taken = settings.merging(["TALLY_HTTP_PORT": String(URL(string: String(address))?.port ?? 0)]) { $1 }
            let second = try await RunningProgram.run("tallyd", ["serve"], environment: taken, in: folder)
            #expect(second.ending == .exited(1))
            #expect(second.errors.contains("cannot listen for the API on \(address): Address already in use"))
            // Nothing else, beside what it says of itself as it begins.
            #expect(!second.errors.contains(" warning "), "\(second.errors)")
            #expect(await daemon.stop() == .exited(0))
            let log = daemon.errors.split(separator: "\n")
            #expect(log.contains { $0.hasSuffix(" info tallyd: stopping") }, "\(daemon.errors)")
            #expect(log.last?.hasSuffix(" info tallyd: stopped") == true, "\(daemon.errors)")
            let warning = "settings=TALLY_HTTP_PROT (did you mean TALLY_HTTP_PORT?) these settings are not known"
            #expect(daemon.errors.contains(warning) && !daemon.errors.contains("hunter2"), "\(daemon.errors)")
        }
    }

    @Test("serve refuses a database that a newer version has migrated")
    func refusesNewerDatabase() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        try await withDatabase { database in
            let name = try await database.query("SELECT current_database()").first(as: String.self) ?? ""
            let settings = Self.settings(databaseURL: try await TestCluster.shared.url(database: name))
            _ = try await RunningProgram.run("tallyd", ["migrate"], environment: settings, in: folder)
            let tables = try await database.query(
                "SELECT table_name::text FROM information_schema.columns WHERE column_name = 'compatible_from'"
            ).decoded(as: String.self)
            let table = try #require(tables.first)
            try await database.execute(
                """
                INSERT INTO \(identifier: table) (number, name, version, compatible_from, checksum)
                SELECT 1000, 'from the future', 1000, 1000, checksum FROM \(identifier: table) LIMIT 1
                """
            )
            let refused = try await RunningProgram.run("tallyd", ["serve"], environment: settings, in: folder)
            #expect(refused.ending != .exited(0))
            #expect(!refused.output.contains("listening"))
        }
    }

    @Test("every program says which version it is", arguments: ["tallyd", "tally", "apns-sim"])
    func version(program: String) async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        let told = try await RunningProgram.run(program, ["--version"], in: folder)
        #expect(told.ending == .exited(0))
        #expect(told.output == ProgramVersion.current)
    }

    @Test("serve without its settings says which one is missing")
    func namesMissingSetting() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        let refused = try await RunningProgram.run("tallyd", ["serve"], in: folder)
        #expect(refused.ending != .exited(0))
        #expect(refused.errors.contains("TALLY_DATABASE_URL"))
    }

    @Test("config shows every setting and no secret")
    func configMasksSecrets() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        var settings = Self.settings(databaseURL: "postgres://someone:hunter2@db.example.com/tally")
        settings["TALLY_APNS_PRODUCTION_DEVICE_URL"] = "https://127.0.0.1:8443"
        settings["TALLY_ACTIVITY_RETENTION_DAYS"] = "forever"
        let shown = try await RunningProgram.run("tallyd", ["config"], environment: settings, in: folder)
        #expect(shown.ending == .exited(0), "\(shown.errors)")
        for name in settings.keys { #expect(shown.output.contains(name)) }
        #expect(shown.output.contains("https://127.0.0.1:8443"))
        let everything = shown.output + shown.errors
        for secret in ["hunter2", settings["TALLY_MASTER_KEY"] ?? "", settings["TALLY_BOOTSTRAP_KEY"] ?? ""] {
            #expect(!everything.contains(secret))
        }
    }

    @Test(
        "config and serve name a setting that cannot be used, without its value",
        arguments: [
            ("TALLY_MASTER_KEY", "c2hvcnQ="), ("TALLY_BOOTSTRAP_KEY", "tooshort"), ("TALLY_HTTP_PORT", "65536"),
            ("TALLY_APNS_RETRY_MAX_SECONDS", "soon"), ("TALLY_ACTIVITY_RETENTION_DAYS", "0"),
            ("TALLY_AUDIT_RETENTION_DAYS", "0"), ("TALLY_METRICS_PORT", "65536"), ("TALLY_METRICS_HOST", "127.0.0.1"),
            ("TALLY_LOG_LEVEL", "loud"),
            ("TALLY_APNS_SANDBOX_CHANNELS_URL", "http://127.0.0.1:1"),
            ("TALLY_DATABASE_URL", "postgres//someone:hunter2@db.example.com/tally"),
        ]
    )
    func namesBadSetting(name: String, value: String) async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        var settings = Self.settings(databaseURL: "postgres:///nowhere")
        settings[name] = value
        let shown = try await RunningProgram.run("tallyd", ["config"], environment: settings, in: folder)
        #expect(shown.ending != .exited(0))
        #expect(shown.errors.contains(name), "\(shown.errors)")
        if name.hasSuffix("KEY") || name == "TALLY_DATABASE_URL" {
            #expect(!(shown.output + shown.errors).contains(value))
        }
        let served = try await RunningProgram.run("tallyd", ["serve"], environment: settings, in: folder)
        #expect(served.ending != .exited(0))
        #expect(served.errors.contains(name), "\(served.errors)")
    }

    @Test("config, serve and migrate name settings that are misspelt, and no value of one")
    func namesUnknownSettings() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        let lines = "# TALLY_OLD=1\nTALLY_LOG_LEVLE=debug\nPOSTGRES_PASSWORD=hunter2\n"
        try lines.write(toFile: folder.path("tally.env"), atomically: true, encoding: .utf8)
        var settings = Self.settings(databaseURL: "postgres://127.0.0.1:1/nowhere?connect_timeout=1")
        settings["TALLY_HTTP_PROT"] = "hunter3"
        settings["TALLY_URL"] = "http://127.0.0.1:8080"
        let file = folder.path("tally.env")
        let arguments = ["config", "--config", file]
        let shown = try await RunningProgram.run("tallyd", arguments, environment: settings, in: folder)
        #expect(shown.ending == .exited(0), "\(shown.errors)")
        let told = shown.output.split(separator: "\n")
        #expect(told.contains("TALLY_HTTP_PROT (did you mean TALLY_HTTP_PORT?)"), "\(shown.output)")
        #expect(told.contains("TALLY_LOG_LEVLE in \(file) (did you mean TALLY_LOG_LEVEL?)"), "\(shown.output)")
        for other in ["TALLY_OLD", "TALLY_URL", "hunter"] { #expect(!shown.output.contains(other)) }

        settings["TALLY_DATABSE_URL"] = settings.removeValue(forKey: "TALLY_DATABASE_URL")
        let slip = "TALLY_DATABASE_URL: is not set; TALLY_DATABSE_URL is, which nothing reads"
        for command in ["serve", "migrate"] {
            let refused = try await RunningProgram.run("tallyd", [command], environment: settings, in: folder)
            #expect(refused.errors.contains(slip), "\(refused.errors)")
        }
    }

    @Test("An answer that there is no space for is no success")
    func diskFull() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        let program = Places.programs.appending(path: "tally").path
        let ended = try await RunningProgram.run(
            "sh",
            ["-c", "exec \"$0\" send --token abcd --title Hi --dry-run >/dev/full", program],
            from: URL(filePath: "/bin"),
            environment: ["TALLY_URL": "http://127.0.0.1:1", "TALLY_API_KEY": "k", "TALLY_APP": "com.example.app"],
            in: folder
        )
        #expect(ended.ending == .exited(1))
        #expect(ended.errors.hasPrefix("tally: disk_full: "), "\(ended.errors)")
    }

    @Test("dev runs everything without configuration, and leaves nothing running")
    func devStartsAndEnds() async throws {
        let folder = try PrivateFolder()
        defer { folder.remove() }
        // As root, Postgres runs as another user, who has to be able to enter.
        let state = folder.path("state")
        #expect(mkdir(state, 0o700) == 0 && chmod(state, geteuid() == 0 ? 0o711 : 0o700) == 0)
        for round in 1...2 {
            let dev = try await RunningProgram.start("tallyd", ["dev", "--state", state], in: folder)
            do {
                try await dev.line(beginningWith: "simulator control on ", within: .seconds(120))
                let environment = EnvironmentFile.read(try folder.text("state/dev.env"))
                let url = try #require(environment["TALLY_URL"])
                let key = try #require(environment["TALLY_API_KEY"])
                let control = try #require(environment["APNS_SIM_CONTROL_URL"])
                #expect(try await HTTPCaller(base: url, key: key).send("GET", "/v1/apps").status == 200)
                #expect(try await HTTPCaller(base: url).send("GET", "/v1/apps").status == 401)
                let keys = try await HTTPCaller(base: url, key: key).send("GET", "/v1/api-keys").json
                #expect(keys["items"]?.array?.compactMap { $0["name"]?.string } == ["phones of the simulator"])
                #expect(try await HTTPCaller(base: control).send("GET", "/health").status == 200)
                let second = try await RunningProgram.run("tallyd", ["dev", "--state", state], in: folder)
                #expect(second.ending == .exited(1))
                #expect(second.errors.contains("another process runs the cluster"), "\(second.errors)")
                #expect(EnvironmentFile.read(try folder.text("state/dev.env")) == environment)
                let servers = Self.postgresProcesses(under: state)
                #expect(!servers.isEmpty, "round \(round)")
                #expect(await dev.stop() == .exited(0), "\(dev.errors)")
                try await eventually("no Postgres is left", within: .seconds(30)) {
                    servers.allSatisfy { kill($0, 0) != 0 } && Self.postgresProcesses(under: state).isEmpty
                }
                #expect(!FileManager.default.fileExists(atPath: folder.path("state/dev.env")))
            } catch {
                await dev.stop()
                throw error
            }
        }
    }

    private static func settings(databaseURL: String) -> [String: String] {
        [
            "TALLY_DATABASE_URL": databaseURL, "TALLY_MASTER_KEY": Data(repeating: 9, count: 32).base64EncodedString(),
            "TALLY_BOOTSTRAP_KEY": "end-to-end-bootstrap-key", "TALLY_HTTP_PORT": "0",
        ]
    }

    /// The processes of a server whose command line names a folder below this one.
    private static func postgresProcesses(under folder: String) -> [pid_t] {
        // A process that has ended meanwhile has no command line any more.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { processID in
            let bytes = FileManager.default.contents(atPath: "/proc/\(processID)/cmdline") ?? Data()
            let commandLine = String(decoding: bytes, as: UTF8.self)
            return commandLine.contains("postgres\0") && commandLine.contains(folder)
        }
    }
}

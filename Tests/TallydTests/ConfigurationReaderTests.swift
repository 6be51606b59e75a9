import Cryptography
import Foundation
import HTTPAPI
import Orchestrator
import Store
import Testing

@testable import tallyd

@Suite("Reading settings")
struct ConfigurationReaderTests {
    private static let key = Base64.encode([UInt8](repeating: 1, count: 32))
    private static let another = Base64.encode([UInt8](repeating: 2, count: 32))

    /// What a setting is, or the error about it.
    private static func text(_ key: ConfigurationKey, _ environment: [String: String]) async throws -> String? {
        try await ConfigurationReader(file: nil, environment: environment).text(key)
    }

    private static func withFile(_ bytes: [UInt8], _ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "tally-secret-\(UUID().uuidString)").path
        try Data(bytes).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }  // Left over, it would do no harm.
        try await body(path)
    }

    @Test(
        "A secret comes from the file that its setting with _FILE names, without the newline at the end",
        arguments: ["s e c r e t", "s e c r e t\n", "s e c r e t\r\n", "s e c r e t\n\n"]
    )
    func secretFile(content: String) async throws {
        try await Self.withFile(Array(content.utf8)) { path async throws in
            for key in DaemonConfiguration.keys where key.isSecret {
                #expect(try await Self.text(key, [key.name + "_FILE": path]) == "s e c r e t")
                #expect(try await Self.text(key, [key.name + "_FILE": path, key.name: ""]) == "s e c r e t")
            }
            #expect(try await Self.text(.logLevel, ["TALLY_LOG_LEVEL_FILE": path]) == nil)
        }
    }

    @Test("A line of the configuration file may name the file of a secret")
    func lineNamesFile() async throws {
        try await Self.withFile(Array("sixteen-letters-or-more\n".utf8)) { secret async throws in
            try await Self.withFile(Array("TALLY_BOOTSTRAP_KEY_FILE=\(secret)\n".utf8)) { path async throws in
                let reader = try await ConfigurationReader(file: path, environment: [:])
                #expect(try reader.text(.bootstrapKey) == "sixteen-letters-or-more")
                #expect(reader.unknown.isEmpty)
            }
        }
    }

    @Test("A value and a file at once are refused, with both named and neither quoted")
    func both() async throws {
        try await Self.withFile(Array("in-the-file".utf8)) { path async throws in
            let settings = ["TALLY_BOOTSTRAP_KEY": "in-the-variable", "TALLY_BOOTSTRAP_KEY_FILE": path]
            let error = await #expect(throws: ConfigurationError.self) {
                try await Self.text(.bootstrapKey, settings)
            }
            let expected =
                "TALLY_BOOTSTRAP_KEY: is set, and TALLY_BOOTSTRAP_KEY_FILE names \(path) as well; remove one of them"
            #expect(error?.description == expected)
        }
    }

    @Test(
        "A file that holds no secret is refused by its name",
        arguments: [
            ([], "is empty"), (Array("\n".utf8), "is empty"), ([0xff], "is not UTF-8 text"),
            ([UInt8](repeating: 0x61, count: 64 * 1024 + 1), "has more than 64 KiB"),
        ] as [([UInt8], String)]
    )
    func noSecret(content: [UInt8], words: String) async throws {
        try await Self.withFile(content) { path async throws in
            let error = await #expect(throws: ConfigurationError.self) {
                try await Self.text(.masterKey, ["TALLY_MASTER_KEY_FILE": path])
            }
            #expect(error?.description == "TALLY_MASTER_KEY_FILE: \(path) \(words)")
        }
    }

    @Test(
        "A file that cannot be read is refused, with the reason",
        arguments: [("/nonexistent/key", "No such file or directory"), ("/", "Is a directory")]
    )
    func unreadable(path: String, reason: String) async throws {
        let error = await #expect(throws: ConfigurationError.self) {
            try await Self.text(.databaseURL, ["TALLY_DATABASE_URL_FILE": path])
        }
        #expect(error?.description == "TALLY_DATABASE_URL_FILE: \(path) cannot be read: \(reason)")
    }

    @Test("The settings for files are known, and slips in them are told")
    func known() {
        for key in DaemonConfiguration.keys {
            guard let name = key.fileName else { continue }
            #expect(UnknownSetting.all(inEnvironment: [name: "/run/secrets/x"]).isEmpty, "\(name)")
        }
        let slip = UnknownSetting.all(inEnvironment: ["TALLY_MASTER_KEY_FIEL": "/run/secrets/x"])
        #expect(slip.map(\.meant) == ["TALLY_MASTER_KEY_FILE"])
    }

    private static func sampling(_ text: String) async throws -> Double {
        let settings = [
            "TALLY_DATABASE_URL": "postgres://localhost/tally", "TALLY_MASTER_KEY": key, "TALLY_RECEIPT_SAMPLING": text,
        ]
        return try DaemonConfiguration(await ConfigurationReader(file: nil, environment: settings))
            .orchestrator.receiptSampling
    }

    @Test("The share of cards with receipts is a number from 0 to 1")
    func receiptSampling() async throws {
        for (text, share) in [("0", 0), ("1", 1), ("0.25", 0.25)] {
            #expect(try await Self.sampling(text) == share)
        }
        for text in ["-0.1", "1.01", "nan", "half"] {
            let error = await #expect(throws: ConfigurationError.self) { try await Self.sampling(text) }
            #expect(error?.description == "TALLY_RECEIPT_SAMPLING: is not a number from 0 to 1")
        }
    }

    @Test("The first master key seals, the others only open")
    func masterKeys() throws {
        let list = try DaemonConfiguration.masterKeys("\(Self.key), \(Self.another)\n")
        #expect(list.current.secretBytes() == [UInt8](repeating: 1, count: 32))
        #expect(list.others.map { $0.secretBytes() } == [[UInt8](repeating: 2, count: 32)])
        #expect(try DaemonConfiguration.masterKeys(Self.key).others.isEmpty)
    }

    @Test("While the master key is replaced, its file holds the list, and the setting beside it is refused")
    func masterKeysInFile() async throws {
        try await Self.withFile(Array("\(Self.key),\(Self.another)\n".utf8)) { path async throws in
            var settings = ["TALLY_DATABASE_URL": "postgres:///tally", "TALLY_MASTER_KEY_FILE": path]
            let list = try await DaemonConfiguration(ConfigurationReader(file: nil, environment: settings)).masterKeys
            #expect(list.current.secretBytes() == [UInt8](repeating: 1, count: 32))
            #expect(list.others.map { $0.secretBytes() } == [[UInt8](repeating: 2, count: 32)])
            settings["TALLY_MASTER_KEY"] = Self.another
            let both = settings
            await #expect(throws: ConfigurationError.self) {
                try await DaemonConfiguration(ConfigurationReader(file: nil, environment: both))
            }
        }
    }

    @Test(
        "A list with anything else in it is refused",
        arguments: ["", ",", "\(key),", ",\(key)", "\(key),,\(another)", "\(key),c2hvcnQ=", "\(key) \(another)"]
    )
    func badMasterKeys(text: String) {
        let error = #expect(throws: ConfigurationError.self) { try DaemonConfiguration.masterKeys(text) }
        #expect(error?.key == "TALLY_MASTER_KEY")
        #expect(error?.message.contains(Self.key) == false)
    }

    @Test(
        "An address without its port is refused",
        arguments: [("TALLY_PHONES_HOST", "TALLY_PHONES_PORT"), ("TALLY_METRICS_HOST", "TALLY_METRICS_PORT")]
    )
    func addressAlone(host: String, port: String) async throws {
        var settings = ["TALLY_DATABASE_URL": "postgres:///tally", "TALLY_MASTER_KEY": Self.key, host: "0.0.0.0"]
        let error = await #expect(throws: ConfigurationError.self) {
            try await DaemonConfiguration(ConfigurationReader(file: nil, environment: settings))
        }
        #expect(error?.description == "\(host): does nothing without \(port)")
        settings[port] = "8443"
        let http = try await DaemonConfiguration(ConfigurationReader(file: nil, environment: settings)).http
        let listener = host == "TALLY_PHONES_HOST" ? http.phonesListener : http.metricsListener
        #expect(listener?.host == "0.0.0.0")
        #expect(listener?.port == 8443)
    }

    /// The error about settings, next to those that must be there.
    private static func refusal(_ settings: [String: String]) async -> String? {
        let required = ["TALLY_DATABASE_URL": "postgres:///tally", "TALLY_MASTER_KEY": key]
        do {
            _ = try await DaemonConfiguration(
                ConfigurationReader(file: nil, environment: required.merging(settings) { $1 })
            )
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test(
        "A file of trust roots that cannot be used is refused",
        arguments: ["TALLY_APNS_CA_FILE", "TALLY_WEBHOOK_CA_FILE"]
    )
    func trustRoots(name: String) async throws {
        let missing = try #require(await Self.refusal([name: "/nonexistent/ca.pem"]))
        #expect(missing.hasPrefix("\(name): ") && missing.contains("/nonexistent/ca.pem"), "\(missing)")
        try await Self.withFile(Array("no certificate".utf8)) { path async throws in
            let empty = try #require(await Self.refusal([name: path]))
            #expect(empty.hasPrefix("\(name): ") && empty.contains(path), "\(empty)")
        }
    }

    @Test("What no machine is called and no address is, is refused; so is a port that no server has")
    func places() async {
        for name in ["TALLY_HTTP_HOST", "TALLY_PHONES_HOST", "TALLY_METRICS_HOST"] {
            var settings = ["TALLY_PHONES_PORT": "8081", "TALLY_METRICS_PORT": "8082"]
            for host in ["999.1.1.1", "http://a", "a b", "10.0.0.1:80", "*", "::g"] {
                settings[name] = host
                let refusal = await Self.refusal(settings)
                #expect(refusal == "\(name): is neither an address nor the name of a machine", "\(host)")
            }
            for host in ["127.0.0.1", "0.0.0.0", "::", "::1", "fe80::1%eth0", "localhost", "tally-1.example.test"] {
                settings[name] = host
                let refusal = await Self.refusal(settings)
                #expect(refusal == nil, "\(host)")
            }
        }
        for port in ["99999", "0", "x"] {
            for url in ["postgres://tally@localhost:\(port)/tally", "host=a,b port=5432,\(port) user=tally"] {
                let refusal = await Self.refusal(["TALLY_DATABASE_URL": url])
                #expect(refusal == "TALLY_DATABASE_URL: names a port that is not a number from 1 to 65535", "\(url)")
            }
        }
        for url in ["postgres://tally@a:1,b:65535/tally", "postgres://tally@localhost/tally", "postgres:///tally"] {
            let refusal = await Self.refusal(["TALLY_DATABASE_URL": url])
            #expect(refusal == nil, "\(url)")
        }
    }

    @Test("What daemons have to share is told by the names of the settings, and in their words")
    func shared() async throws {
        let settings = [
            "TALLY_DATABASE_URL": "postgres:///tally", "TALLY_MASTER_KEY": Self.key, "TALLY_RING_SIZE": "100",
            "TALLY_ACTIVITY_RETENTION_DAYS": "forever", "TALLY_WEBHOOK_ALLOW": "10.0.0.0/8",
        ]
        let reader = try await ConfigurationReader(file: nil, environment: settings)
        let shared = try DaemonConfiguration(reader).orchestrator.shared
        let expected = [
            "TALLY_RING_SIZE": "100", "TALLY_EVENT_RETENTION_DAYS": "7", "TALLY_ACTIVITY_RETENTION_DAYS": "forever",
            "TALLY_AUDIT_RETENTION_DAYS": "400", "TALLY_WEBHOOK_ALLOW": "10.0.0.0/8",
        ]
        #expect(shared == expected)
    }

    @Test("Two listeners at one address have different ports")
    func ports() async {
        let phones = await Self.refusal(["TALLY_PHONES_PORT": "8080"])
        #expect(phones == "TALLY_PHONES_PORT: is the same as TALLY_HTTP_PORT, at the same address")
        let both = ["TALLY_PHONES_PORT": "9000", "TALLY_METRICS_PORT": "9000"]
        let metrics = await Self.refusal(both.merging(["TALLY_METRICS_HOST": "0.0.0.0"]) { $1 })
        #expect(metrics == "TALLY_METRICS_PORT: is the same as TALLY_PHONES_PORT, at the same address")
        #expect(await Self.refusal(both.merging(["TALLY_METRICS_HOST": "10.0.0.1"]) { $1 }) == nil)
        let ownFamily = ["TALLY_HTTP_HOST": "0.0.0.0", "TALLY_METRICS_HOST": "::1", "TALLY_METRICS_PORT": "8080"]
        #expect(await Self.refusal(ownFamily) == nil)
        #expect(await Self.refusal(ownFamily.merging(["TALLY_HTTP_HOST": "::"]) { $1 }) != nil)
        #expect(await Self.refusal(["TALLY_HTTP_PORT": "0", "TALLY_PHONES_PORT": "0"]) == nil)
    }
}

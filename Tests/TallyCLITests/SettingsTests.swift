import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import SwiftContent
import Testing

@testable import tally

@Suite("Settings")
struct SettingsTests {
    private static let profiles = """
        {"default":"local","profiles":{"local":{"url":"http://l","key":"lk","ca_file":"l.pem","app":"com.local"},"far":{"url":"http://f"}}}
        """

    private func settings(
        _ words: [String] = [],
        environment: [String: String] = [:],
        file: String? = nil
    ) throws -> Settings {
        var environment = environment
        environment["HOME"] = "/home/me"
        return try Settings(options: GlobalOptions.parse(words), app: nil, environment: environment) { path in
            #expect(path == "/home/me/.config/tally/config.json")
            return file.map { Array($0.utf8) }
        }
    }

    @Test("options come before the environment, the environment before the profile of the file")
    func order() throws {
        let environment = ["TALLY_URL": "http://e", "TALLY_API_KEY": "ek", "TALLY_CA_FILE": "e.pem"]
        var found = try settings(["--url", "http://o"], environment: environment, file: Self.profiles)
        #expect(found.url == "http://o" && found.key == "ek" && found.caFile == "e.pem")
        found = try settings(environment: environment, file: Self.profiles)
        #expect(found.url == "http://e" && found.key == "ek" && found.app == nil)
        found = try settings(environment: ["TALLY_URL": "", "TALLY_APP": "com.e"], file: Self.profiles)
        #expect(found.url == "http://l" && found.key == "lk" && found.caFile == "l.pem")
        #expect(found.app?.rawValue == "com.e")
    }

    @Test("the key may come from a file, and not from two places")
    func keyFile() throws {
        let path = FileManager.default.temporaryDirectory.path + "/key-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in the temporary folder does no harm
        var environment = ["TALLY_URL": "http://e", "TALLY_API_KEY_FILE": path]
        let absent = try #require(throws: UsageError.self) { try settings(environment: environment) }
        #expect(absent.message.contains(path))
        #expect(try settings(["--key", "ok"], environment: environment).key == "ok")
        for (content, key) in [("fk\n", "fk"), ("\n", nil)] {
            try Data(content.utf8).write(to: URL(fileURLWithPath: path))
            if let key {
                #expect(try settings(environment: environment).key == key)
                environment["TALLY_URL"] = nil
                #expect(try settings(["--url", "http://o"], environment: environment).key == key)
            } else {
                #expect(throws: UsageError.self) { try settings(environment: environment) }
            }
            environment["TALLY_URL"] = "http://e"
        }
        try Data("fk".utf8).write(to: URL(fileURLWithPath: path))
        environment["TALLY_API_KEY"] = "ek"
        let both = try #require(throws: UsageError.self) { try settings(environment: environment) }
        #expect(both.message.contains("both are set"))
    }

    @Test("a profile is named by option or environment")
    func named() throws {
        #expect(try settings(["--profile", "far", "--key", "k"], file: Self.profiles).url == "http://f")
        let environment = ["TALLY_PROFILE": "far", "TALLY_API_KEY": "k"]
        let found = try settings(environment: environment, file: Self.profiles)
        #expect(found.url == "http://f" && found.key == "k")
    }

    @Test("a profile that the command line names comes before the whole environment")
    func namedBeforeEnvironment() throws {
        let environment = [
            "TALLY_URL": "http://e", "TALLY_API_KEY": "ek", "TALLY_CA_FILE": "e.pem", "TALLY_APP": "com.e",
            "TALLY_PROFILE": "far",
        ]
        let found = try settings(["--profile", "local"], environment: environment, file: Self.profiles)
        #expect(found.url == "http://l" && found.key == "lk" && found.caFile == "l.pem")
        #expect(found.app?.rawValue == "com.local")
        // Its owner wrote no key down for it, and the one of the environment is for another host.
        #expect(throws: UsageError.self) {
            try settings(["--profile", "far"], environment: environment, file: Self.profiles)
        }
    }

    @Test(
        "a profile's key goes to no other host, and the environment's not to a profile that has one",
        arguments: [
            (["--url", "http://o"], [:]),
            ([], ["TALLY_URL": "http://e"]),
            (["--url", "http://o", "--profile", "local"], ["TALLY_API_KEY": "ek"]),
            ([], ["TALLY_API_KEY": "ek"]),
            ([], ["TALLY_API_KEY": "ek", "TALLY_PROFILE": "local"]),
        ] as [([String], [String: String])]
    )
    func strangeHosts(words: [String], environment: [String: String]) throws {
        let error = try #require(throws: UsageError.self) {
            try settings(words, environment: environment, file: Self.profiles)
        }
        #expect(error.message.contains("TALLY_API_KEY"))
    }

    @Test("what the command line says takes the place of a part of what the profile says")
    func replacedParts() throws {
        let words = ["--profile", "local", "--url", "http://o", "--key", "ok"]
        var found = try settings(words, file: Self.profiles)
        #expect(found.url == "http://o" && found.key == "ok" && found.caFile == nil)
        #expect(found.app?.rawValue == "com.local")
        found = try settings(["--key", "ok"], environment: ["TALLY_API_KEY": "ek"], file: Self.profiles)
        #expect(found.url == "http://l" && found.key == "ok" && found.caFile == "l.pem")
    }

    @Test("what is missing is said with the way to give it")
    func missing() throws {
        let noURL = try #require(throws: UsageError.self) { try settings() }
        #expect(noURL.message.contains("TALLY_URL"))
        let noKey = try #require(throws: UsageError.self) { try settings(["--url", "http://o"]) }
        #expect(noKey.message.contains("TALLY_API_KEY"))
    }

    @Test("a file with keys that others can open is refused with the command that mends it")
    func permissions() throws {
        let path = FileManager.default.temporaryDirectory.path + "/profiles-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in the temporary folder does no harm
        #expect(try Files.readPrivate(path) == nil)
        for (mode, isPrivate) in [(0o600, true), (0o400, true), (0o644, false), (0o620, false), (0o604, false)] {
            let made = FileManager.default.createFile(
                atPath: path,
                contents: Data("{}".utf8),
                attributes: [.posixPermissions: mode]
            )
            try #require(made)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            if isPrivate {
                #expect(try Files.readPrivate(path) == Array("{}".utf8))
            } else {
                let error = try #require(throws: UsageError.self) { try Files.readPrivate(path) }
                #expect(error.message.contains("chmod 600 \(path)"))
            }
        }
    }

    @Test("a profile that is not there, or a file that is not JSON, is an error")
    func badProfiles() {
        #expect(throws: UsageError.self) { try settings(["--profile", "none"], file: Self.profiles) }
        #expect(throws: UsageError.self) { try settings(["--profile", "local"]) }
        #expect(throws: UsageError.self) { try settings(file: "{") }
    }
}

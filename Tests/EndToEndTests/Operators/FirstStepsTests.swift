import APITypes
import ActivityModel
import Foundation
import SystemSupport
import TallyClient
import Testing

/// What docs/guides/deploy.md says of a new installation, carried out on one.
@Suite("First steps on a new installation")
struct FirstStepsTests {
    @Test("the keys that they make are enough for operator, backend and Prometheus once the bootstrap key is gone")
    func keys() async throws {
        try await TallySystem.with { system in
            let settings = system.folder.path("tally.env")
            try Data("TALLY_BOOTSTRAP_KEY=\(TallySystem.adminKey)\n".utf8).write(to: URL(fileURLWithPath: settings))
            try await Shell.run(
                "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey.p8",
                in: system.folder
            )
            let steps = try DocumentBlock.read("first-steps", in: "guides/deploy.md")
                .replacing("http://127.0.0.1:8080", with: system.url)
                .replacing("/etc/tally/tally.env", with: settings)
            #expect(steps.contains(system.url) && steps.contains(settings))
            // The doctor finds fault with the cluster of the tests, and says so by its exit code.
            let output = try await Shell.run(steps, in: system.folder, stopsAtFailure: false)
            #expect(output.contains("com.example.app"), "\(output)")
            let secrets = output.matches(of: /secret +(tally_[A-Za-z0-9_-]+)/).map { String($0.output.1) }
            try #require(secrets.count == 3, "\(output)")

            let url = try await system.startAnotherDaemon(environment: ["TALLY_BOOTSTRAP_KEY": ""]).url
            func client(_ key: String) throws -> TallyClient { try TallyClient(.init(url: url, key: key)) }
            await #expect(throws: ClientError.self) { try await client(TallySystem.adminKey).apps() }
            let made = try await client(secrets[0]).createKey(APIKeyRequest(name: "another", scopes: [.admin]))
            #expect(made.secret != nil)
            let ticket = RegistrationTicketRequest(
                environment: .production,
                deviceID: knownGood(DeviceID("phone-1")),
                ttlSeconds: 60
            )
            _ = try await client(secrets[1]).createTicket(knownGood(BundleID("com.example.app")), ticket)
            #expect(try await HTTPCaller(base: url, key: secrets[2]).send("GET", "/metrics").status == 200)
        }
    }
}

import ActivityModel
import Cryptography
import Foundation
import JSON
import Testing

@testable import APNSSimulator

/// A simulator that trusts one key, its phones, and a folder for what other people's clients have to be given.
struct ForeignWorld {
    static let bundleID = "com.example.game"
    static let activityTopic = bundleID + ".push-type.liveactivity"

    let simulator: SimulatorService
    let addresses: SimulatorAddresses
    let key: P256PrivateKey
    let folder: URL

    /// Lends a world with so many phones, `p-1` and so on, in the sandbox; none of them follows anything by itself.
    static func with(
        phones count: Int,
        configure: (inout SimulationSettings) -> Void = { _ in },
        _ body: (ForeignWorld) async throws -> Void
    ) async throws {
        try await withSimulator { settings in
            settings.refusesUnknownKeys = true
            configure(&settings)
        } _: { simulator, addresses, control in
            let folder = FileManager.default.temporaryDirectory.appending(path: "foreign-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }  // nothing depends on it
            let world = ForeignWorld(
                simulator: simulator,
                addresses: addresses,
                key: try P256PrivateKey.generate(),
                folder: folder
            )
            try simulator.control.register(
                KeyRequest(
                    teamID: TeamID(stored: "TEAM123456"),
                    keyID: KeyID(stored: "KEY1234567"),
                    pem: try world.key.publicKey.pem()
                )
            )
            _ = try await control.create(newPhones(count))
            try await body(world)
        }
    }

    /// The seconds on the clock that the simulator goes by.
    static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    func port(_ api: AppleAPI, _ environment: APNSEnvironment = .sandbox) throws -> UInt16 {
        try #require(addresses.ports[ListenerRole(environment, api)])
    }

    func phone(_ number: Int) throws -> Phone {
        let phone = simulator.simulation.read { world, _ in
            world.phoneNumber(DeviceID(stored: "p-\(number)")).map { world.phones[$0] }
        }
        return try #require(phone)
    }

    func startToken(_ number: Int) throws -> String { try #require(try phone(number).startTokens[Sample.type]) }

    func authorization(issuedAt: Int64 = now, by key: P256PrivateKey? = nil) throws -> String {
        let claims: JSONValue = ["iss": "TEAM123456", "iat": .number(JSONNumber(issuedAt))]
        return try KeyRingTests.jwt(KeyRingTests.header, claims, key: key ?? self.key)
    }

    /// A start of the sample activity, at this moment.
    static var startBody: PushBodyText { .start(at: now - Sample.start) }
}

package import APITypes
import ActivityModel
import Intake
import JSON
import Postgres
import TestSupport
import Testing

@testable import Orchestrator

/// A type with two versions: the app from 2.0 on needs a `clock`, which older ones do not know.
extension World {
    package static let clockState =
        #"{"type":"object","properties":{"score":{"type":"integer"},"clock":{"type":"string"}},"required":["score","clock"]}"#
    package static let attributesSchema =
        #"{"type":"object","properties":{"home":{"type":"string"}},"required":["home"]}"#

    /// Starts an activity that shows score 1 on two phones: `old` (token aa01), whose app has that version, and `new`
    /// (token aa02), whose app is the newer one.
    package func startForBoth(old appVersion: String) async throws {
        try await registerVersion()
        try await install(appVersion, on: "old")
        try await install("2.1", on: "new")
        try await start()
        try await updateBoth(score: 1)
        try await follow("old", token: "aa01")
        try await follow("new", token: "aa02")
        try await settle()
    }

    /// Registers another version of the type `Game`.
    @discardableResult
    package func registerVersion(
        _ state: String = clockState,
        attributes: String = attributesSchema,
        from least: String? = "2.0",
        force: Bool = false
    ) async throws -> TypeRegistration {
        let request = TypeRequest(
            source: .schemas(attributes: try json(attributes), contentState: try json(state)),
            minAppVersion: least.flatMap { AppVersion($0) }
        )
        return try await orchestrator.putType(app, Self.game, request, force: force)
    }

    /// Registers a device with an app version.
    package func install(_ app: String?, on device: String, token: String? = nil, os: String = "18.1") async throws {
        var request = DeviceRequest(environment: .production)
        request.osVersion = OSVersion(os)
        request.appVersion = app.flatMap { AppVersion($0) }
        if let token {
            request.startTokens = [Self.game: StartTokenRequest(token: try #require(PushToken(hex: token)))]
        }
        _ = try await orchestrator.intake.putDevice(self.app, DeviceID(stored: device), request)
    }

    /// What the older app decodes, and the newer one does not.
    @discardableResult
    package func updateOld(score: Int64) async throws -> Accepted { try await update(score: score) }

    /// What both decode.
    @discardableResult
    package func updateBoth(score: Int64, alert: String? = nil, mustDeliver: Bool = false) async throws -> Accepted {
        try await update(score: score, alert: alert, mustDeliver: mustDeliver) { $0.contentState["clock"] = "45:00" }
    }

    /// What only the newer app decodes: a score beyond what the older schema lets in.
    @discardableResult
    package func updateNew(_ score: Int64, alert: String? = nil, mustDeliver: Bool = false) async throws -> Accepted {
        try await update(score: score, alert: alert, mustDeliver: mustDeliver) { request in
            request.contentState["clock"] = "45:00"
            request.contentState["note"] = 1
        }
    }

    package func reason(_ device: String) async throws -> String? {
        try await tables.card(of: device)?.reason
    }

    package func retire(_ version: Int, undo: Bool = false) async throws {
        _ = try await orchestrator.putTypeVersion(app, Self.game, version, TypeVersionRequest(retired: !undo))
    }
}

/// The versions that refuse content, as the answer names them; nil if it is accepted.
package func refusingVersions(_ operation: () async throws -> Void) async throws -> Set<Int>? {
    guard let refused = try await problem(operation) else { return nil }
    #expect(refused.status == 422)
    #expect(refused.code == "invalid_content_state")
    return Set(refused.errors.compactMap(\.schemaVersion))
}

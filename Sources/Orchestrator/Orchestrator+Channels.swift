package import APITypes
package import ActivityModel
import Channels
package import Store

// The services of the room below that the API needs. The registry says which environment a request means.
extension Orchestrator {
    /// See ``Channels/create(_:_:_:idempotency:)``.
    ///
    /// - Throws: 404 for an unknown app; 422 for an environment without a signing key.
    package func createChannel(
        _ app: BundleID,
        _ request: ChannelRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> Replayable<ChannelResource> {
        let environment = try await environment(request.environment, of: app)
        return try await channelRoom.create(app, environment, request.storage, idempotency: idempotency)
    }

    /// See ``Channels/list(_:_:)``.
    package func channels(_ app: BundleID, _ page: PageRequest) async throws -> Page<ChannelResource> {
        try await channelRoom.list(app, page)
    }

    /// See ``Channels/channel(_:_:)``.
    package func channel(_ app: BundleID, _ id: ChannelID) async throws -> ChannelResource {
        try await channelRoom.channel(app, id)
    }

    /// See ``Channels/delete(_:_:)``.
    package func deleteChannel(_ app: BundleID, _ id: ChannelID) async throws {
        try await channelRoom.delete(app, id)
    }

    /// See ``Channels/reconcile(_:_:dryRun:idempotency:)``.
    ///
    /// - Throws: 404 for an unknown app; 422 for an environment without a signing key.
    package func reconcileChannels(
        _ app: BundleID,
        _ request: ReconcileRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> Replayable<ChannelReport> {
        let environment = try await environment(request.environment, of: app)
        return try await channelRoom.reconcile(app, environment, dryRun: request.dryRun, idempotency: idempotency)
    }
}

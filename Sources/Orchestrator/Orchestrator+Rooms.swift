package import APITypes
package import ActivityModel
import Channels
import Doctor
import Intake
import Record
import Registry
package import ReportTypes
package import Store

// Requests that need more than one room.
extension Orchestrator {
    /// See ``Registry/deleteApp(_:activities:)``.
    package func deleteApp(_ id: BundleID) async throws {
        try await registry.deleteApp(id, activities: activities)
        intake.forgetActivities()
    }

    /// See ``Registry/putTopics(_:of:_:activities:)``.
    package func putTopics(
        _ app: BundleID,
        of follower: UserOrDevice,
        _ request: TopicsRequest
    ) async throws -> FollowedTopics {
        try await registry.putTopics(app, of: follower, request, activities: activities)
    }

    /// See ``Channels/create(_:_:_:idempotency:)``.
    ///
    /// - Throws: 404 for an unknown app; 422 for an environment without a signing key.
    package func createChannel(
        _ app: BundleID,
        _ request: ChannelRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> Replayable<ChannelResource> {
        let environment = try await registry.environment(request.environment, of: app)
        return try await channelRoom.create(app, environment, request.storage, idempotency: idempotency)
    }

    /// See ``Channels/reconcile(_:_:dryRun:idempotency:)``.
    ///
    /// - Throws: 404 for an unknown app; 422 for an environment without a signing key.
    package func reconcileChannels(
        _ app: BundleID,
        _ request: ReconcileRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> Replayable<ChannelReport> {
        let environment = try await registry.environment(request.environment, of: app)
        return try await channelRoom.reconcile(app, environment, dryRun: request.dryRun, idempotency: idempotency)
    }

    /// See ``Doctor/examine(_:installation:channels:)``.
    package func examine(_ request: DoctorRequest, installation: Bool) async -> DoctorReport {
        await doctor.examine(request, installation: installation, channels: self)
    }
}

// What the doctor asks of this room.
extension Orchestrator: ChannelMaker {
    package func makeChannel(_ app: BundleID, _ environment: APNSEnvironment) async throws -> ChannelID {
        try await createChannel(app, ChannelRequest(environment: environment, storage: .none)).answer.id
    }

    package func deleteChannel(_ app: BundleID, _ id: ChannelID) async throws {
        try await channelRoom.delete(app, id)
    }
}

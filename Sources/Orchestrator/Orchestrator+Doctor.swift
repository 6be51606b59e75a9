package import APITypes
package import ActivityModel
import Doctor
import Store

// What the API asks of the room below, and what that room asks of this one.
extension Orchestrator {
    /// See ``Doctor/examine(_:installation:channels:)``.
    package func examine(_ request: DoctorRequest, installation: Bool) async -> DoctorReport {
        await doctor.examine(request, installation: installation, channels: self)
    }
}

extension Orchestrator: ChannelMaker {
    package func makeChannel(_ app: BundleID, _ environment: APNSEnvironment) async throws -> ChannelID {
        try await createChannel(app, ChannelRequest(environment: environment, storage: .none)).answer.id
    }
}

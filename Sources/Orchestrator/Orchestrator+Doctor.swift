package import APITypes
package import ActivityModel
import Doctor
import Store

// The services of the room below for the API, and the services of this room for that one.
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

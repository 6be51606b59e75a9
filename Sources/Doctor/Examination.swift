import APITypes
import ActivityModel
import Postgres
import ReportTypes
import Store

/// One visit of the doctor's.
struct Examination: Sendable {
    let doctor: Doctor
    let channels: any ChannelMaker
    let request: DoctorRequest
    let installation: Bool

    /// How long the database may take for one question.
    static let patience = Duration.seconds(5)

    var database: Database { doctor.store.database }
    /// The app that is looked at, as SQL takes it.
    var app: String? { request.bundleID?.rawValue }
    /// The environment that is looked at, as SQL takes it.
    var environment: String? { request.environment?.rawValue }

    func checks() async -> [DoctorCheck] {
        var checks = writeChecks()
        let (found, keys) = await questionedChecks()
        checks += found
        if installation { checks.append(DoctorCheck("version", .ok, "tallyd \(ProgramVersion.current)")) }
        checks += await connectionChecks(of: keys)
        if request.triesChannels { checks += await channelTrials(of: keys ?? []) }
        return checks
    }
}

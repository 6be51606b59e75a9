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
        var keys: [SigningKeyFacts]?
        do {
            checks += try await databaseChecks()
            let found = try await signingKeys()
            keys = found
            checks += signingKeyChecks(found)
            checks += refusalChecks()
            checks += try await credentialChecks()
            checks += try await workChecks()
            checks += try await channelChecks()
            checks += try await ChannelTrouble.read(app: app, environment: environment, from: database).map(\.check)
            checks += try await webhookChecks()
            checks += try await ticketKeyChecks()
        } catch {
            checks.append(Self.unanswered(error))
        }
        if installation { checks.append(DoctorCheck("version", .ok, "tallyd \(ProgramVersion.current)")) }
        checks += await connectionChecks(of: keys)
        if request.triesChannels { checks += await channelTrials(of: keys ?? []) }
        return checks
    }

    private static func unanswered(_ error: any Error) -> DoctorCheck {
        DoctorCheck(
            "database",
            .broken,
            "The database did not answer: \(error)",
            advice:
                "Look whether Postgres runs and can be reached from here with TALLY_DATABASE_URL; nothing is accepted or "
                + "sent until it does."
        )
    }
}

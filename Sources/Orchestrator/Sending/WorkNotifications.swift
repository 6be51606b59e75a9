import Postgres
import ServiceLifecycle

/// Hears from the other daemons of this database that they have accepted changes, so that whoever is free helps at once.
///
/// Only accepts notify, once per group: a NOTIFY makes commits wait for each other. Everything else, and whatever is
/// said while the connection is away, is found by the dispatcher's own look at the database.
struct WorkNotifications: Service, CustomStringConvertible {
    /// The channel of LISTEN and NOTIFY; the notifications carry nothing.
    private static let channel = "tally_work"

    /// The statement that tells the other daemons; it takes effect with the commit.
    static let announcement: Query = "SELECT pg_notify('tally_work', '')"

    let orchestrator: Orchestrator

    var description: String { "work-notifications" }

    func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in orchestrator.database.notifications(channels: [Self.channel]) {
                orchestrator.wakeUps.signal()
            }
        }
    }
}

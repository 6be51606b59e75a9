package import Postgres
import ServiceLifecycle

/// Tells the other daemons of this database that there is work, and hears it from them, so that whoever is free helps
/// at once.
///
/// Only accepts tell, after their commits and many of them at once: transactions with a NOTIFY commit one after the
/// other. Everything else, and whatever is said while a connection is away, is found by the dispatcher's own look at
/// the database.
package struct WorkNotifications: Service, CustomStringConvertible {
    /// The channel of LISTEN and NOTIFY; the notifications carry who tells.
    private static let channel = "tally_work"
    /// The least time between two notifications: one daemon alone takes what comes meanwhile, and sees it at once.
    private static let interval = Duration.milliseconds(20)

    /// The statement that tells all daemons; it takes effect with the commit. Only for rare transactions.
    package static let announcement = announcement(from: "")

    private static func announcement(from daemon: String) -> Query { "SELECT pg_notify('tally_work', \(daemon))" }

    let database: Database
    let wakeUps: WakeUps
    /// Identifies this daemon's own notifications.
    private let name = String(UInt64.random(in: .min ... .max), radix: 16)

    init(database: Database, wakeUps: WakeUps) {
        self.database = database
        self.wakeUps = wakeUps
    }

    package var description: String { "work-notifications" }

    func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await hear() }
                group.addTask { await tell() }
            }
        }
    }

    private func hear() async {
        for await event in database.notifications(channels: [Self.channel]) {
            if case .notification(_, let teller) = event, teller == name { continue }
            wakeUps.signal()
        }
    }

    private func tell() async {
        for await _ in wakeUps.signalsForOthers {
            // The others look anyway, only later.
            _ = try? await database.execute(Self.announcement(from: name))
            try? await Task.sleep(for: Self.interval)  // throws only when cancelled
        }
    }
}

import APNSTransport
package import Channels
package import DeliveryStore
import Logging
import Postgres
package import Registry
package import ServiceLifecycle
package import Store
import Waiting

/// The room of sending: workers that bring what was accepted to the phones.
///
/// - **What it does.** Each folder has one subject.
///   - `Workers`: finds segments that are due and serves them, alone or many together (``Dispatcher``,
///     ``SegmentWorker``, ``SegmentGroup``).
///   - `Sending`: what all kinds of work use to send: a worker's slot, the push, its tokens, its answer.
///   - `Rings`: sends the newest revision to all update tokens of an activity (``RingTurn``).
///   - `Broadcasts`: the same for channels (``ChannelTurn``).
///   - `Starts`: starts cards by push (``StartTurn``).
///   - `Cards`: what time alone causes (``CardWatcher``).
///   - `Pushes`: ordinary pushes (``PushQueue``).
///   - `Versions`: takes cards off a ring that cannot decode what it sends, and brings them back.
/// - **Who calls it.** Nobody: its duties run until the daemon stops. They ask the registry for types, and the room of
///   channels for new channels. All pushes leave by ``send(_:to:slot:)``.
/// - **Tables that it alone writes.** None. It has no SQL: it reads and stores with statements of the rooms below.
///
/// One for the whole daemon.
package final class DeliveryRoom: Sendable {
    let store: Store
    let work: DeliveryStore
    let sender: any PushSender
    let registry: Registry
    let channels: Channels

    package init(store: Store, work: DeliveryStore, sender: any PushSender, registry: Registry, channels: Channels) {
        self.store = store
        self.work = work
        self.sender = sender
        self.registry = registry
        self.channels = channels
    }

    /// Finds segments that are due, and has workers serve them.
    package var dispatcher: any Service { Dispatcher(room: self) }
    /// Looks after cards as time passes.
    package var cardWatcher: any Service { CardWatcher(room: self) }
    /// Sends ordinary pushes.
    package var pushQueue: any Service { PushQueue(room: self) }
}

// What the workers use of the rooms below.
extension DeliveryRoom {
    var database: Database { store.database }
    var settings: OrchestratorSettings { store.settings }
    var logger: Logger { store.logger }
    var signing: SigningIdentities { store.signing }
    var timeline: Timeline { store.timeline }
    var wakeUps: WakeUps { work.wakeUps }
    var dueWork: DueWork { work.dueWork }
    var segments: SegmentStore { work.segments }
    var changes: ChangeStore { work.changes }
    var ledger: BudgetLedger { work.ledger }
    var halts: SendingHalts { work.halts }

    /// Ends the lease of a segment for a pause, which is the longer the more often its work has failed in a row. `reason` is
    /// safe for logs.
    func backOff(_ lease: SegmentLease, afterFailures failures: Int, because reason: String) async throws {
        let delay = settings.backoff.delay(afterFailures: failures)
        logger.warning(
            "segment backs off",
            metadata: [
                "activity.key": "\(lease.activityKey)", "segment": "\(lease.segment)",
                "reason": "\(reason)", "delay": "\(delay)",
            ]
        )
        try await segments.backOff(lease, for: delay)
    }

    /// Waits before another try; false if the daemon stops.
    func hasPaused(for time: Duration) async -> Bool {
        await cancelWhenGracefulShutdown {
            do {
                try await self.settings.pause(time)
                return true
            } catch {
                return false
            }
        }
    }
}

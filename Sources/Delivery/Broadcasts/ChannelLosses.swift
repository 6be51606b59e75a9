import APNSTransport
import ActivityModel
import Channels
import DeliveryStore
import Logging
import Store

extension DeliveryRoom {
    /// Finds out whether a channel that APNs does not know is lost, and gives it up if so.
    func settleLoss(
        of channel: ChannelID,
        _ apnsID: APNSChannelID,
        in activity: ActivitySnapshot,
        because outcome: PushOutcome,
        slot: WorkerSlot?
    ) async throws -> ChannelLoss {
        try await channels.settleLoss(
            of: channel,
            apnsID,
            app: activity.bundleID,
            activity.environment,
            reason: outcome.words
        ) { await slot.awaiting($0) }
    }
}

extension Logger {
    /// Says that a broadcast is not tried again.
    func refusedForGood(_ activityKey: Int64, _ outcome: PushOutcome) {
        error(
            "APNs refuses a broadcast for good",
            metadata: ["activity.key": "\(activityKey)", "apns.reason": "\(outcome.words)"]
        )
    }
}

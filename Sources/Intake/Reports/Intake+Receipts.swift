package import APITypes
package import ActivityModel
import DeliveryStore
import Registry
import Store

extension Intake {
    /// The share of cards whose receipts are wanted, from 0 to 1.
    package var receiptSampling: Double { settings.receiptSampling }

    /// Records which revisions an app saw on the cards of a device.
    ///
    /// Tally ignores a receipt of an unknown card or revision, and one that brings no news. Whatever an app says here
    /// changes no push.
    ///
    /// - Throws: 429 while the daemon has too much to accept.
    package func takeReceipts(_ app: BundleID, _ device: DeviceID, _ receipts: [CardReceipt]) async throws {
        guard !receipts.isEmpty else { return }
        let name = ReportedCard.Device(app: app, id: device)
        let limit = intakeLimit
        // They can wait, so they are the first to go.
        let answers = await groups.receipts.submit([(name, ReceiptGroup.Request(device: name, receipts: receipts))]) {
            _,
            backlog throws(Problem) in
            try limit.admit(.routine, behind: backlog)
        }
        let news = try (answers.first ?? .failure(Problem.internalError())).get()
        for shown in news { work.times.record(shown) }
    }
}

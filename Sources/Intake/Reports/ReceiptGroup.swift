import APITypes
import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Registry

/// Stores receipts of many devices in one statement (``ShownRevision``).
enum ReceiptGroup {
    struct Request: Sendable {
        let device: ReportedCard.Device
        let receipts: [CardReceipt]
    }

    /// - Returns: For each request, what says how long changes take to show.
    static func accept(
        _ requests: [Request],
        in database: Database
    ) async throws -> [Result<[DeliveryTimes.Shown], any Error>] {
        let told = requests.enumerated().flatMap { place, request in
            request.receipts.map {
                ShownRevision.Told(request: place, app: request.device.app, device: request.device.id, receipt: $0)
            }
        }
        var shown: [[DeliveryTimes.Shown]] = Array(repeating: [], count: requests.count)
        for news in try await ShownRevision.store(told, in: database) {
            shown[news.request].append(
                DeliveryTimes.Shown(environment: news.environment, urgency: news.urgency, delay: news.delay)
            )
        }
        return shown.map { .success($0) }
    }
}

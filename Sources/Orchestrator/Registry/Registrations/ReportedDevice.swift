import APITypes
import ActivityModel
import Store

/// One report of an installation.
struct ReportedDevice: Sendable {
    let app: BundleID
    let id: DeviceID
    let request: DeviceRequest
    var idempotencyKey: IdempotencyKey?
    /// Whether the answer holds all facts about the device.
    let wantsDevice: Bool

    var name: ReportedCard.Device { ReportedCard.Device(app: app, id: id) }
}

/// The outcome of a report that was taken.
struct StoredReport: Sendable {
    let deviceKey: Int64
    /// Why not all of it was taken.
    var stale: StaleReport?
    /// Nil if nobody wants it.
    var device: DeviceResource?
}

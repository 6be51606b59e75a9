package import APITypes
package import ActivityModel
package import Store

/// The ids by which apps know a device; reports of one are taken in their order.
package struct DeviceName: Hashable, Sendable, Comparable {
    package let app: BundleID
    package let id: DeviceID

    package init(app: BundleID, id: DeviceID) {
        self.app = app
        self.id = id
    }

    package static func < (one: DeviceName, other: DeviceName) -> Bool {
        (one.app.rawValue, one.id.rawValue) < (other.app.rawValue, other.id.rawValue)
    }
}

/// One report of an installation.
package struct ReportedDevice: Sendable {
    let app: BundleID
    let id: DeviceID
    let request: DeviceRequest
    /// The ticket it came with, which may be revoked by now.
    let ticket: TicketGrant?
    var idempotencyKey: IdempotencyKey?
    /// Whether the answer holds all facts about the device.
    let wantsDevice: Bool

    package init(
        app: BundleID,
        id: DeviceID,
        request: DeviceRequest,
        ticket: TicketGrant? = nil,
        idempotencyKey: IdempotencyKey? = nil,
        wantsDevice: Bool
    ) {
        self.app = app
        self.id = id
        self.request = request
        self.ticket = ticket
        self.idempotencyKey = idempotencyKey
        self.wantsDevice = wantsDevice
    }

    package var name: DeviceName { DeviceName(app: app, id: id) }
}

/// The outcome of a report that was taken.
package struct StoredReport: Sendable {
    let deviceKey: Int64
    /// Why not all of it was taken.
    package var stale: StaleReport?
    /// Nil if nobody wants it.
    package var device: DeviceResource?
}

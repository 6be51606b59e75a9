package import ActivityModel
import JSON

/// `POST …/receipts` of a device: which revisions its app saw on cards.
package struct ReceiptsRequest: Sendable, Hashable {
    /// The most receipts of one request. With the longest ids they fit into the body that a phone may send.
    package static let maximumReceipts = 50

    /// 1 to ``maximumReceipts``.
    package var receipts: [CardReceipt]

    package init(receipts: [CardReceipt]) {
        self.receipts = receipts
    }
}

/// One revision that an app saw on the card of an activity.
package struct CardReceipt: Sendable, Hashable {
    /// The longest time that a receipt may be late: nearly as long as a card lives.
    package static let maximumAge: Int64 = 86_400_000

    package var activityID: ActivityID
    package var revision: Revision
    /// How long before the request the card began to show it. Nil: the app found it there.
    package var ageMilliseconds: Int64?

    package init(activityID: ActivityID, revision: Revision, ageMilliseconds: Int64? = nil) {
        self.activityID = activityID
        self.revision = revision
        self.ageMilliseconds = ageMilliseconds
    }
}

extension ReceiptsRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("receipts", \.receipts, .list(of: .object(CardReceipt.self), 1...Self.maximumReceipts, "receipts")),
        make: Self.init
    )
}

extension CardReceipt: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("activity_id", \.activityID, .activityID),
        .required("revision", \.revision, FieldType<Int64>.int64.within(1...Int64.max)),
        .optional("age_milliseconds", \.ageMilliseconds, FieldType<Int64>.int64.within(0...CardReceipt.maximumAge)),
        make: Self.init
    )
}

/// The answer to receipts, 200. It says nothing about the cards.
package struct ReceiptsAnswer: Sendable, Hashable {
    package var deviceID: DeviceID
    /// The share of cards whose receipts are wanted, from 0 to 1.
    package var receiptSampling: Double

    package init(deviceID: DeviceID, receiptSampling: Double) {
        self.deviceID = deviceID
        self.receiptSampling = receiptSampling
    }
}

extension ReceiptsAnswer: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("device_id", \.deviceID, .deviceID),
        .required("receipt_sampling", \.receiptSampling, .double),
        make: Self.init
    )
}

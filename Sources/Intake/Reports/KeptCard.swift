import APITypes
import ActivityModel
import JSON

/// Kept of the answer to a report of a card: all but the device, which the repeated request names again.
/// The device may be erased before the answer is forgotten.
struct KeptCard: APIAnswer {
    private static let device = "device_id"
    private var fields: JSONObject

    init(_ answer: SubscriptionAnswer) {
        fields = answer.json.object ?? [:]
        fields[Self.device] = nil
    }

    /// The answer as it was.
    func answer(to card: ReportedCard) throws(Problem) -> SubscriptionAnswer {
        var fields = fields
        fields[Self.device] = .string(card.device.rawValue)
        return try SubscriptionAnswer(json: .object(fields))
    }

    init?(reader: inout ObjectReader) {
        fields = reader.object
        guard reader.finish() else { return nil }
    }

    var json: JSONValue { .object(fields) }
}

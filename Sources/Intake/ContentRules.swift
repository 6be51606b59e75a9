import APITypes
import ActivityModel
import JSON

extension BodySizes {
    /// - Throws: 422 `payload_too_large` naming the first limit that the state breaks.
    static func check(_ contentState: CompactJSON, in combination: Combination) throws(Problem) {
        guard let excess = excess(of: contentState, in: combination) else { return }
        let what =
            switch excess.limit {
            case .device, .call: "The largest push to a device"
            case .broadcast: "The largest push to the channel"
            case .stored: "Attributes and content state together, which the phone holds,"
            }
        throw .payloadTooLarge(
            bytes: excess.bytes,
            limit: excess.limit.bytes,
            detail: "\(what) would have \(excess.bytes) bytes; Apple's limit is \(excess.limit.bytes)."
        )
    }
}

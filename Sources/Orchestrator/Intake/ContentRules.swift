import APITypes
import ActivityModel
import JSON

extension BodySizes {
    /// - Throws: 422 `payload_too_large` naming the first limit that is broken.
    func check() throws(Problem) {
        guard let excess else { return }
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

extension TypeContext {
    /// A content state as it goes to the phone.
    ///
    /// - Throws: 422 `invalid_content_state` with a pointer for each thing that the phone could not decode.
    func settledContentState(_ contentState: JSONObject) throws(Problem) -> JSONObject {
        let (settled, errors) = newest.contentStateSchema.settle(.object(contentState), version: newest.version)
        guard errors.isEmpty else { throw .invalidContentState(errors) }
        return settled.object ?? contentState
    }

    /// Attributes as they go to the phone.
    ///
    /// - Throws: 422 `invalid_attributes`.
    func settledAttributes(_ attributes: JSONObject) throws(Problem) -> JSONObject {
        let (settled, errors) = newest.attributesSchema.settle(.object(attributes), version: newest.version)
        guard errors.isEmpty else { throw .invalidAttributes(errors) }
        return settled.object ?? attributes
    }
}

import APITypes
import JSON

/// Kept of the answer to a report of a device: that there was one. Nothing names the device or its user, who may be
/// erased before the answer is forgotten.
struct KeptRegistration: APIAnswer {
    init() {}

    init?(reader: inout ObjectReader) {
        guard reader.finish() else { return nil }
    }

    var json: JSONValue { .object([:]) }
}

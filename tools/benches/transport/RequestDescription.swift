import APNSTransport
import HTTP2Engine

/// A request as this client sends it, for those that are to send the same bytes.
struct RequestDescription: Encodable {
    let method: String
    let pathPrefix: String
    let tokenDigits: Int
    let fields: [[String]]
    let body: String

    init(_ measurement: Measurement) throws {
        let head = RequestHead.devicePush(measurement.headers)
        let token = try ProviderToken.sign(measurement.identity, at: APNSClient.wallClock())
        method = head.method
        pathPrefix = head.path
        tokenDigits = 2 * Measurement.tokenBytes
        fields = [["authorization", token.authorization]] + head.fields.map { [$0.name, $0.value] }
        body = String(decoding: measurement.body, as: UTF8.self)
    }
}

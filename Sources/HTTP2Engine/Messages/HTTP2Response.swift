/// A complete response.
package struct HTTP2Response: Sendable {
    /// The value of `:status`, 200…599. Interim responses (1xx) are skipped.
    package let status: Int
    package let fields: HTTP2Fields
    package let body: [UInt8]
}

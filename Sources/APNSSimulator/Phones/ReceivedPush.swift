/// One push that a phone received, with its result.
package struct ReceivedPush: Sendable {
    /// Numbers the pushes to all phones, starting at 1.
    package let sequence: UInt64
    package let at: ClockReading
    package let body: PushBody
    /// 1, 5 or 10; 10 without the header.
    package let priority: Int
    /// The number of the card that it changed or created.
    package let card: Int?
    /// When this push's token was issued or its channel was subscribed to, in milliseconds since 1970. An older post
    /// counts as caught up, not as late.
    package let reachableSince: Int64
    package let verdict: PushVerdict
    /// More about an ignored push, without values of the payload.
    package let detail: String?
}

/// One push as a phone received it, with what became of it.
package struct ReceivedPush: Sendable {
    /// Counts all pushes that reached any phone, from 1.
    package let sequence: UInt64
    package let at: Moment
    package let body: PushBody
    /// 1, 5 or 10; 10 where the header was left out.
    package let priority: Int
    /// The number of the card that it was for, or that it made.
    package let card: Int?
    /// Since when this push could have reached the phone: milliseconds since 1970 at which its token was handed out
    /// or its channel subscribed to. What was posted before is caught up, not late.
    package let reachableSince: Int64
    package let verdict: Verdict
    /// More about an ignored push, without values of the payload.
    package let detail: String?
}

/// How long phones show cards.
package enum CardLife {
    /// How long after the end a card that never heard of it is there at most: Apple's 8 h of life and 4 h on the Lock
    /// Screen.
    package static let longest = Duration.seconds(12 * 3600)

    /// The condition that the activity `a` ended so long ago that no phone shows it any more.
    package static func isPast(_ a: String) -> String {
        "coalesce(\(a).ended_at < clock_timestamp() - interval '\(longest.components.seconds) seconds', false)"
    }
}

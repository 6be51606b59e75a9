import Store

/// Changes that an activity accepts before its time while nobody has a card of it. Phones need only the newest state of
/// them, which the starts carry. So none of them is a barrier (promise 4), and the segments are past them when the
/// activity begins.
package enum ScheduledStart {
    /// An SQL condition: the activity `a` has not begun, and nobody has a card of it.
    static let isAwaited = "(a.state = 'scheduled' AND \(hasNoCards("a")))"

    /// Common table expressions of the statement that begins activities, behind its table of them, `begun`. They take
    /// the segments past the accepted changes, and record those as merged.
    package static func passing(_ begun: String) -> String {
        """
        alone AS (
            SELECT b.activity_key, b.revision FROM \(begun) AS b WHERE \(hasNoCards("b"))
        ), passed AS (
            \(SegmentRows.skipChanges(from: "alone"))
        ), merged AS (
            \(ChangeRows.passOver(from: "alone"))
        ), told AS (
            \(EventRows.merge(from: "merged"))
        )
        """
    }

    private static func hasNoCards(_ activity: String) -> String {
        "NOT EXISTS (SELECT FROM subscriptions AS d WHERE d.activity_key = \(activity).activity_key OFFSET 0)"
    }
}

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
            UPDATE segments AS g SET completed_revision = alone.revision FROM alone
            WHERE g.activity_key = alone.activity_key AND g.completed_revision < alone.revision
        ), merged AS (
            UPDATE changes AS c SET merged_into = alone.revision FROM alone
            WHERE c.activity_key = alone.activity_key AND c.revision > 1 AND c.revision < alone.revision
              AND c.merged_into IS NULL
            RETURNING c.activity_key, c.revision, c.merged_into
        ), told AS (
            \(EventRows.merge(from: "merged"))
        )
        """
    }

    private static func hasNoCards(_ activity: String) -> String {
        "NOT EXISTS (SELECT FROM subscriptions AS d WHERE d.activity_key = \(activity).activity_key OFFSET 0)"
    }
}

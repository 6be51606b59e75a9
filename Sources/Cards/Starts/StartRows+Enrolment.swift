import ActivityModel
package import Postgres
import Store

// Starts of an audience: made, wanted again, and retried.
extension StartRows {
    /// The part of a statement that makes starts of the rows of a selection, which has the columns `activity_key`,
    /// `device_key`, `state` and `due_at`. A start that was given up is wanted again. It returns a row for each.
    package static func enrolment(of wanted: String) -> String {
        """
        INSERT INTO starts (activity_key, device_key, state, due_at)
        \(wanted)
        ON CONFLICT (activity_key, device_key) DO UPDATE
        SET state = CASE starts.state WHEN 'unknown' THEN starts.state ELSE 'pending' END,
            due_at = \(dueAgain), reason = NULL
        WHERE \(wasGivenUp("starts"))
        RETURNING 1
        """
    }

    /// The same for devices that have just registered or changed their topics. It returns the keys of their activities.
    ///
    /// `triesAgain` also retries starts that were withheld or have failed. A start that is under way is retried if it
    /// fails. It keeps its number of `attempts`, because an earlier push may have arrived.
    package static func enrolment(of wanted: Query, triesAgain: Bool) -> Query {
        """
        INSERT INTO starts (activity_key, device_key, state, due_at)
        \(part: wanted)
        ON CONFLICT (activity_key, device_key) DO UPDATE
        SET state = CASE WHEN starts.state IN ('claimed', 'unknown') THEN starts.state ELSE 'pending' END,
            due_at = CASE starts.state WHEN 'claimed' THEN starts.due_at ELSE \(unescaped: dueAgain) END,
            failures = 0, reason = NULL, renewed = starts.renewed OR \(triesAgain)
        WHERE (\(triesAgain) AND starts.state IN ('withheld', 'failed', 'claimed')) OR \(unescaped: wasGivenUp("starts"))
        RETURNING activity_key
        """
    }

    /// The condition that a start was given up because its device had been removed from the audience; it may be wanted
    /// again. One that may have left is repeated, but not more than once (promise 6).
    package static func wasGivenUp(_ start: String) -> String {
        """
        (\(start).state = 'cancelled'
         OR (\(start).state = 'unknown' AND \(start).due_at IS NULL
             AND \(start).attempts < 2))
        """
    }

    /// An SQL expression: when a start that came to nothing, or was given up, may be sent. One without an answer leaves
    /// its phone the time to report it, as it would have if it had always been wanted (promise 6).
    private static let dueAgain = """
        greatest(clock_timestamp(), CASE starts.state WHEN 'unknown' THEN starts.claimed_at + (
            SELECT \(StoredPolicy.startRetry("p")) FROM activities AS o JOIN activity_types AS p USING (bundle_id, type_name)
            WHERE o.activity_key = starts.activity_key) END)
        """

    /// The part of a statement that makes starts of an activity due at once. `devices` is a table of their
    /// `device_key`.
    package static func makeDue(_ devices: String, of activityKey: Int64) -> Query {
        """
        UPDATE starts AS s SET due_at = clock_timestamp()
        FROM \(unescaped: devices) WHERE s.activity_key = \(activityKey) AND s.device_key = \(unescaped: devices).device_key
          AND s.device_key = ANY(ARRAY(SELECT device_key FROM \(unescaped: devices)))
        """
    }

    /// The condition that a start came to nothing and is tried again when the start token of its device is revived. Its push
    /// was refused, or the device had no live token when it was due. That token may have been rejected with the push of
    /// another activity.
    package static func waitsForToken(_ start: String) -> String {
        """
        (\(start).state = 'failed'
         OR (\(start).state = 'withheld' AND \(start).reason = '\(StartStateMachine.Reason.noStartToken.rawValue)'))
        """
    }

    /// The part of a statement that retries the starts that wait for some start tokens (``waitsForToken(_:)``). `tokens` is
    /// a table of their `device_key` and `type_name`. It returns the keys of their activities.
    package static func revival(ofTokens tokens: String) -> String {
        """
        UPDATE starts AS s SET state = 'pending', due_at = clock_timestamp(), failures = 0, reason = NULL
        FROM \(tokens) AS r, activities AS a
        WHERE s.device_key = r.device_key AND \(waitsForToken("s")) AND a.activity_key = s.activity_key
          AND a.type_name = r.type_name AND a.state = 'live'
        RETURNING s.activity_key
        """
    }
}

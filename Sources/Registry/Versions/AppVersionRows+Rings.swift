package import ActivityModel
import Cards
package import Postgres
import Store

// How far the rings of an activity have followed the rows.
extension AppVersionRows {
    /// A row whose cards a ring has still to bring in line.
    package struct Unsettled: Sendable {
        let appVersion: String
        package let isWithheld: Bool
        let decodesFrom: Revision

        package init(appVersion: String, isWithheld: Bool, decodesFrom: Revision) {
            self.appVersion = appVersion
            self.isWithheld = isWithheld
            self.decodesFrom = decodesFrom
        }
    }

    /// The statement that reads the rows which a ring has still to settle, for ``Unsettled``.
    package static func unsettled(of activityKey: Int64, ring: Int16) -> Query {
        """
        SELECT app_version, is_withheld, decodes_from FROM activity_app_versions AS v
        WHERE activity_key = \(activityKey) AND \(part: CardVersions.isUnsettled("v", on: ring))
        """
    }

    /// The statement that says that rows are settled for a ring. Rows that were changed again meanwhile stay unsettled.
    /// The last ring says that it is settled for all.
    package static func settlement(_ rows: [Unsettled], of activityKey: Int64, ring: Int16) -> Query {
        """
        UPDATE activity_app_versions AS v
        SET settled_rings = v.settled_rings || \(ring),
            is_settled = NOT EXISTS (
                SELECT FROM segments AS g WHERE g.activity_key = v.activity_key AND \(unescaped: SegmentRows.isRing("g"))
                  AND g.segment <> \(ring) AND g.segment <> ALL (v.settled_rings)
            )
        FROM unnest(
            \(rows.map(\.appVersion)), \(rows.map(\.isWithheld)), \(rows.map(\.decodesFrom))
        ) AS r(app_version, is_withheld, decodes_from)
        WHERE v.activity_key = \(activityKey) AND v.app_version = r.app_version
          AND v.is_withheld = r.is_withheld AND v.decodes_from = r.decodes_from
        """
    }

    /// The statement for a ring that was divided: what is settled for it is settled for the new rings, too, which have
    /// the numbers from one on.
    package static func settlement(ofRingsFrom firstNumber: Int16, like ring: Int16, of activityKey: Int64) -> Query {
        """
        UPDATE activity_app_versions AS v
        SET settled_rings = v.settled_rings || ARRAY(
            SELECT segment FROM segments AS g WHERE g.activity_key = v.activity_key AND g.segment >= \(firstNumber)
        )
        WHERE v.activity_key = \(activityKey) AND \(unescaped: CardVersions.isUnsettled("v")) AND \(ring) = ANY (v.settled_rings)
        """
    }
}

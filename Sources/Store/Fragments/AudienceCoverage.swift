/// SQL about who an activity is for.
package enum AudienceCoverage {
    /// The condition that the audience of the activity `a` covers the device `d`. A device that was removed is not
    /// covered, nor one whose user has signed out, nor one that is in the other environment now.
    package static let condition = """
        (d.environment = a.environment AND (a.audience_all
         OR \(names("device", "d.device_id"))
         OR \(names("user", "d.user_id"))
         OR \(TopicFollowing.isCovered(device: "d.device_key", user: "d.user_id"))))
        """

    /// The condition that a member of the audience has a registered device, in whatever environment. Nobody else is
    /// reached. The arguments are SQL expressions.
    package static func isRegistered(_ kind: String, _ memberID: String, of app: String) -> String {
        func isThere(_ column: String) -> String {
            "EXISTS (SELECT FROM devices AS d WHERE d.bundle_id = \(app) AND d.\(column) = \(memberID) OFFSET 0)"
        }
        return "(CASE \(kind) WHEN 'user' THEN \(isThere("user_id")) ELSE \(isThere("device_id")) END)"
    }

    /// The condition that the audience of the activity `a` names a member. Looks at one entry of the index.
    ///
    /// The order forces the index by name. A plan that was made while the table was empty takes the index in the order
    /// of naming instead. Then it reads all members for each look-up.
    package static func names(_ kind: String, _ memberID: String) -> String {
        """
        coalesce((SELECT m.member_id FROM audience_members AS m
                  WHERE m.activity_key = a.activity_key AND m.kind <= '\(kind)'
                    AND (m.kind, m.member_id) >= ('\(kind)', \(memberID))
                  ORDER BY m.kind, m.member_id LIMIT 1) = \(memberID), false)
        """
    }
}

/// SQL about who an activity is for.
package enum AudienceCoverage {
    /// The condition that the audience of the activity `a` covers the device `d`. A device that was removed is not
    /// covered, nor one whose user has signed out, nor one that is in the other environment now.
    package static let condition = """
        (d.environment = a.environment AND (a.audience_all
         OR EXISTS (SELECT FROM audience_members AS m
                    WHERE m.activity_key = a.activity_key AND m.kind = 'device' AND m.member_id = d.device_id)
         OR EXISTS (SELECT FROM audience_members AS m
                    WHERE m.activity_key = a.activity_key AND m.kind = 'user' AND m.member_id = d.user_id)))
        """
}

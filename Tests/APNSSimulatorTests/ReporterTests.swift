import APITypes
import ActivityModel
import JSON
import Testing

@testable import APNSSimulator

@Suite("What apps tell Tally")
struct ReporterTests {
    @Test("a device report carries tokens, versions and the generation")
    func device() throws {
        var profile = Sample.profile()
        profile.appVersion = AppVersion("5.1")
        profile.userID = UserID("u-1")
        let report = DeviceReport(deviceToken: "ab", startTokens: [Sample.type: "cdef"], generation: 3)
        let expected: JSONValue = [
            "environment": "sandbox", "user_id": "u-1", "os_version": "18.1", "app_version": "5.1",
            "activities_enabled": true, "frequent_pushes_enabled": true, "device_token": "ab",
            "start_tokens": ["GameAttributes": ["token": "cdef", "generation": 3]],
        ]
        #expect(report.request(of: profile).json == expected)
    }

    @Test(
        "a subscription report names its link, its generation and the phone",
        arguments: [
            (SubscriptionReport.Link.token("abcd"), "update_token", JSONValue.string("abcd")),
            (.channel("c3RvcmluZzEyMzQ1Njc4OQ=="), "channel_id", .string("c3RvcmluZzEyMzQ1Njc4OQ==")),
            (.ended, "ended", .bool(true)),
        ]
    )
    func subscription(_ link: SubscriptionReport.Link, _ key: String, _ value: JSONValue) throws {
        let report = SubscriptionReport(
            activityID: Sample.final,
            link: link,
            activityKitID: "A-1",
            generation: 2,
            knownRevision: 7
        )
        var expected: JSONObject = [
            "generation": 2, "known_revision": 7, "activitykit_id": "A-1", "environment": "sandbox",
            "os_version": "18.1",
        ]
        expected[key] = value
        #expect(try #require(report.request(of: Sample.profile())).json == .object(expected))
    }
}

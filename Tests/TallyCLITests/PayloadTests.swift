import APITypes
import ActivityModel
import JSON
import Testing

@testable import tally

@Suite("Payloads for Apple's tools")
struct PayloadTests {
    private static func push(_ to: PlannedPush.Destination, destinations: Int = 1) -> PlannedPush {
        PlannedPush(
            event: .update,
            to: to,
            destinations: destinations,
            budgetClass: "ordinary",
            priority: .five,
            reason: "routine",
            explanation: "routine changes leave at priority 5",
            path: to == .channel ? "/4/broadcasts/apps/com.example.app" : "/3/device/{token}",
            headers: ["apns-push-type": "liveactivity", "apns-priority": "5"],
            bytes: 44,
            body: ["aps": ["content-state": ["team": "PSV '88"]]]
        )
    }

    @Test("the body alone is what the Push Notifications Console takes")
    func json() throws {
        let text = PayloadFormat.json.text(
            of: Self.push(.updateTokens),
            app: BundleID(stored: "com.example.app"),
            environment: .sandbox
        )
        #expect(try JSONValue(parsing: text) == Self.push(.updateTokens).body)
    }

    @Test("curl gets every header, the body quoted for a shell, and variables in place of tokens")
    func curl() {
        let text = PayloadFormat.curl.text(
            of: Self.push(.updateTokens),
            app: BundleID(stored: "com.example.app"),
            environment: .sandbox
        )
        #expect(
            text == #"""
                curl --http2 \
                  --header 'apns-push-type: liveactivity' \
                  --header 'apns-priority: 5' \
                  --header "authorization: bearer $AUTHENTICATION_TOKEN" \
                  --data '{"aps":{"content-state":{"team":"PSV '\''88"}}}' \
                  "https://api.sandbox.push.apple.com/3/device/$ACTIVITY_PUSH_TOKEN"
                """#
        )
        let start = PayloadFormat.curl.text(
            of: Self.push(.startTokens),
            app: BundleID(stored: "com.example.app"),
            environment: .production
        )
        #expect(start.hasSuffix(#""https://api.push.apple.com/3/device/$PUSH_TO_START_TOKEN""#))
        let broadcast = PayloadFormat.curl.text(
            of: Self.push(.channel),
            app: BundleID(stored: "com.example.app"),
            environment: .production
        )
        #expect(broadcast.hasSuffix(#""https://api.push.apple.com/4/broadcasts/apps/com.example.app""#))
    }

    @Test("simctl finds the app in the file")
    func simctl() throws {
        let text = PayloadFormat.simctl.text(
            of: Self.push(.updateTokens),
            app: BundleID(stored: "com.example.app"),
            environment: .sandbox
        )
        let file = try JSONValue(parsing: text)
        #expect(file["Simulator Target Bundle"]?.string == "com.example.app")
        #expect(file["aps"] == Self.push(.updateTokens).body["aps"])
    }

    @Test("of several pushes the one to more phones is printed, or the one that is asked for")
    func choice() throws {
        let pushes = [Self.push(.updateTokens, destinations: 3), Self.push(.channel)]
        #expect(try Payload.choose(from: pushes, nil).to == .updateTokens)
        #expect(try Payload.choose(from: pushes, .channel).to == .channel)
        #expect(throws: UsageError.self) { try Payload.choose(from: [pushes[0]], .channel) }
        #expect(throws: UsageError.self) { try Payload.choose(from: [], nil) }
    }

    @Test("a dry run of an unchanged state that has no timestamp yet shows none")
    func unchanged() {
        let answer = DryRunAnswer(activityID: ActivityID(stored: "final"), revision: 1, timestamp: nil, unchanged: true)
        #expect(
            answer.text == """
                dry run   nothing would be sent: this is how it is already
                activity  final
                revision  1
                """
        )
    }

    @Test("a dry run says to whom, at which priority and why, and shows request and body")
    func dryRun() {
        let answer = DryRunAnswer(
            activityID: ActivityID(stored: "final"),
            revision: 3,
            timestamp: 1_671_375_600,
            withheld: ["waiting_for_token": 2],
            pushes: [Self.push(.updateTokens, destinations: 7)]
        )
        #expect(
            answer.text == """
                dry run      nothing was sent or written
                activity     final
                revision     3
                timestamp    1671375600 (2022-12-18T15:00:00Z)
                not sent to  2 waiting_for_token

                update to 7 update tokens, budget of the ordinary class, 44 bytes
                priority 5: routine changes leave at priority 5
                  POST /3/device/{token}
                  apns-push-type: liveactivity
                  apns-priority: 5

                {
                  "aps": {
                    "content-state": {
                      "team": "PSV '88"
                    }
                  }
                }
                """
        )
    }
}

import ActivityModel
import JSON

@testable import APNSSimulator

enum Sample {
    static let type = ActivityTypeName(stored: "GameAttributes")
    static let final = ActivityID(stored: "final")
    /// UNIX seconds.
    static let start: Int64 = 1_800_000_000

    static func moment(_ seconds: Int64 = 0) -> ClockReading { ClockReading(milliseconds: (start + seconds) * 1000) }

    static func profile(
        _ id: String = "phone-1",
        os: OSVersion = OSVersion(18, 1),
        follows: [ActivityID] = [final],
        startTokens: Bool = true
    ) -> PhoneProfile {
        PhoneProfile(
            id: DeviceID(stored: id),
            environment: .sandbox,
            bundleID: BundleID(stored: "com.example.game"),
            osVersion: os,
            types: [type],
            idAttribute: "activityId",
            follows: follows,
            takesStartTokens: startTokens,
            // Phones of different ids must not have the same tokens.
            seed: id.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }
        )
    }

    static let state: JSONValue = ["homeScore": 1, "awayScore": 0, "minute": 23, "period": "first_half"]

    /// A start body; `change` edits its `aps`.
    static func startBody(
        activity: String = "final",
        at seconds: Int64 = 0,
        _ change: (inout JSONObject) -> Void = { _ in }
    ) -> PushBody {
        var aps: JSONObject = [
            "timestamp": .number(JSONNumber(start + seconds)), "event": "start",
            "attributes-type": "GameAttributes",
            "attributes": [
                "homeTeam": "ARG", "awayTeam": "FRA", "competition": "Final", "activityId": .string(activity),
            ],
            "content-state": state, "alert": ["title": "Kick-off", "body": "It begins"], "input-push-token": 1,
        ]
        change(&aps)
        return body(aps)
    }

    static func updateBody(
        at seconds: Int64,
        event: String = "update",
        _ change: (inout JSONObject) -> Void = { _ in }
    ) -> PushBody {
        var aps: JSONObject = [
            "timestamp": .number(JSONNumber(start + seconds)), "event": .string(event), "content-state": state,
        ]
        change(&aps)
        return body(aps)
    }

    static func body(_ aps: JSONObject) -> PushBody {
        PushBody(bytes: JSONValue.object(["aps": .object(aps)]).serialized(), types: KnownType.samples)
    }
}

extension Phone {
    /// A phone whose app has been opened.
    static func launched(_ profile: PhoneProfile = Sample.profile(), limits: PhoneLimits = PhoneLimits()) -> Phone {
        var phone = Phone(profile: profile, limits: limits)
        _ = phone.launch(at: Sample.moment())
        return phone
    }

    /// A phone with a card that was started by push and has its token.
    static func started(by body: PushBody = Sample.startBody()) -> Phone {
        var phone = launched()
        _ = phone.start(body)
        _ = phone.tokenReady(card: 0, at: Sample.moment(1))
        return phone
    }

    mutating func start(_ body: PushBody, at seconds: Int64 = 0, channelExists: Bool = true) -> [PhoneEffect] {
        receive(
            ArrivingPush(
                sequence: 1,
                body: body,
                priority: 10,
                destination: .start(type: Sample.type),
                channelExists: channelExists
            ),
            at: Sample.moment(seconds)
        )
    }

    mutating func change(_ body: PushBody, card: Int = 0, at seconds: Int64 = 2) -> [PhoneEffect] {
        let push = ArrivingPush(sequence: 1, body: body, priority: 5, destination: .token(card: card))
        return receive(push, at: Sample.moment(seconds))
    }

    var lastVerdict: PushVerdict? { received.last?.verdict }
}

extension [PhoneEffect] {
    var subscriptions: [SubscriptionReport] {
        compactMap { effect in
            guard case .report(.subscription(let report)) = effect else { return nil }
            return report
        }
    }

    var devices: [DeviceReport] {
        compactMap { effect in
            guard case .report(.device(let report)) = effect else { return nil }
            return report
        }
    }
}

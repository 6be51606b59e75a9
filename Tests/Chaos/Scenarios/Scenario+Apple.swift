import APITypes
import ActivityModel
import JSON
import Postgres
import SystemSupport
import TallyClient
import TestSupport

extension Scenario {
    static let appleScenarios =
        [
            byFault("goaway", "connections end with GOAWAY, one request in five brings one", ["kind": "go_away"], 0.2),
            byFault(
                "cut",
                "connections are cut, by one request in ten",
                ["kind": "drop_connection"],
                0.1,
                isShort: true
            ),
            byFault(
                "unavailable",
                "every request is answered with 503 for two minutes",
                answer(503, "ServiceUnavailable"),
                seconds: 120,
                isShort: true
            ),
            byFault(
                "broken",
                "half of all requests are answered with 500 for a minute",
                answer(500, "InternalServerError"),
                0.5,
                seconds: 60
            ),
            byFault(
                "throttled-tokens",
                "more than half of the pushes to tokens are answered with 429",
                answer(429, "TooManyRequests"),
                0.6,
                match: ["api": "device"]
            ),
            byFault(
                "throttled-topic",
                "every push of the topic is answered with 429",
                answer(429, "TooManyRequests"),
                match: ["topic": .string("\(TallySystem.app.rawValue).push-type.liveactivity")]
            ),
            byFault("silence", "one request in five is never answered, and not processed", ["kind": "silence"], 0.2),
            byFault(
                "lost-answers",
                "one request in five is processed and never answered",
                ["kind": "lost_answer"],
                0.2
            ),
        ] + [streams, certificate, slowReading, revokedKey, wrongEnvironment, gone]

    private static func answer(_ status: Int, _ reason: String) -> JSONValue {
        ["kind": "answer", "status": .number(JSONNumber(status)), "reason": .string(reason)]
    }

    private static func byFault(
        _ name: String,
        _ story: String,
        _ effect: JSONValue,
        _ probability: Double = 1,
        match: JSONValue = [:],
        seconds: Int = 30,
        isShort: Bool = false
    ) -> Scenario {
        Scenario(
            name: "apns-\(name)",
            story: "Apple: \(story)",
            allowances: .lostStarts,
            isShort: isShort,
            faults: { stage in
                try await stage.fault(effect, match: match, probability: probability, seconds: seconds, short: 5)
            }
        )
    }

    private static let streams = Scenario(
        name: "apns-streams",
        story: "Apple: connections take one request at a time",
        crowd: 100,
        faults: { stage in
            try await stage.fault(["kind": "stream_limit", "value": 1], seconds: 30, short: 5)
            try await stage.fault(["kind": "stream_limit", "value": 1_000], seconds: 2, short: 2)
        }
    )

    private static let certificate = Scenario(
        name: "apns-certificate",
        story: "Apple: the TLS certificate has expired, and all connections are gone",
        isShort: true,
        faults: { stage in
            try await stage.simulator.showCertificate(expired: true)
            await stage.pause(seconds: 30, short: 5)
            try await stage.simulator.showCertificate(expired: false)
        }
    )

    private static let slowReading = Scenario(
        name: "apns-slow",
        story: "Apple: reads 20 kB a second from each connection to the device API",
        crowd: 200,
        prepare: { stage in
            let setting = "TALLY_APNS_PRODUCTION_DEVICE_URL"
            let port = stage.system.settings[setting]?.split(separator: ":").last.flatMap { UInt16($0) }
            guard let port else { throw Failure("\(setting) has no port") }
            try await stage.putRelay(to: .port(port), setting: setting) { "https://127.0.0.1:\($0)" }
        },
        faults: { stage in
            try stage.relay.slow(bytesPerSecond: 20_000)
            await stage.pause(seconds: 30, short: 5)
            try stage.relay.slow()
        }
    )

    private static let revokedKey = Scenario(
        name: "apns-key",
        story: "Apple: the signing key is revoked, and replaced by a new one ten seconds later",
        options: {
            var options = TallySystem.Options()
            options.simulatorArguments = ["--refuse-unknown-keys"]
            return options
        }(),
        isShort: true,
        prepare: { stage in
            let key = try TallySystem.signingKey()
            try await stage.simulator.register(key)
            try await stage.system.sign(with: key)
        },
        faults: { stage in
            try await stage.simulator.revoke(try TallySystem.signingKey().keyID)
            await stage.pause(seconds: 10, short: 4)
            let key = try TallySystem.signingKey("DEF456ABCD")
            try await stage.simulator.register(key)
            try await stage.system.sign(with: key)
        }
    )

    private static let wrongEnvironment = Scenario(
        name: "apns-environment",
        story: """
            the daemon is started with the sandbox's address for production, so that Apple refuses every token; sending halts; \
            the setting is put right and the halt lifted
            """,
        crowd: 150,
        faults: { stage in
            let setting = "TALLY_APNS_PRODUCTION_DEVICE_URL"
            let settings = stage.system.settings
            try await stage.restartDaemons(with: [setting: settings["TALLY_APNS_SANDBOX_DEVICE_URL"] ?? ""])
            try await eventually("sending has halted", within: .seconds(120)) {
                try await EngineTables(stage.system.database).isHalted()
            }
            await stage.pause(seconds: 10, short: 3)
            try await stage.restartDaemons(with: [setting: settings[setting] ?? ""])
            try await stage.system.client().liftHalt(TallySystem.app, .production)
        }
    )

    private static let gone = Scenario(
        name: "apns-gone",
        story: "30 % of the phones lose their cards and their apps at once, so that Apple answers 410",
        isShort: true,
        faults: { stage in
            for (number, match) in stage.load.long.enumerated() where match.delivery != .channel {
                let leaving = stage.share(0.3, of: SteadyLoad.fans(of: number))
                try await stage.simulator.act("force-quit", at: leaving, activity: match.id)
                try await stage.simulator.act("swipe-away", at: leaving, activity: match.id)
            }
            await stage.pause(seconds: 20, short: 5)
        }
    )
}

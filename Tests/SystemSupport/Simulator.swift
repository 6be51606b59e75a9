package import APITypes
package import ActivityModel
package import JSON
import TestSupport

/// A running `apns-sim`.
package struct Simulator: Sendable {
    package let program: RunningProgram
    /// `TALLY_APNS_…` as the simulator has written them.
    package let environment: [String: String]
    /// Its control API.
    package let control: HTTPCaller

    /// Starts one; `tokenDelay` is in milliseconds, until a started phone has its update token.
    package static func start(
        in folder: PrivateFolder,
        tokenDelay: ClosedRange<Int>,
        arguments: [String] = []
    ) async throws -> Simulator {
        let program = try await RunningProgram.start(
            "apns-sim",
            [
                "serve", "--env-file", folder.path("apns-sim.env"), "--ca-file", folder.path("apns-sim-ca.pem"),
                "--token-delay-min", "\(tokenDelay.lowerBound)", "--token-delay-max", "\(tokenDelay.upperBound)",
            ] + arguments,
            in: folder
        )
        do {
            // The file appears whole, when everything listens.
            let text = try await eventually("the simulator's addresses") { () -> String? in
                if let ending = await program.end(within: .zero) {
                    throw Failure("apns-sim: \(ending)\n\(program.errors)")
                }
                return try? folder.text("apns-sim.env")
            }
            let environment = EnvironmentFile.read(text)
            guard let url = environment["APNS_SIM_CONTROL_URL"] else {
                throw Failure("no APNS_SIM_CONTROL_URL in \(text)")
            }
            return Simulator(program: program, environment: environment, control: HTTPCaller(base: url))
        } catch {
            await program.stop()
            throw error
        }
    }

    package var controlURL: String { control.base }

    /// Names the Tally that apps report to.
    package func connect(url: String, key: String) async throws {
        try await control.call("PUT", "/tally", ["url": .string(url), "key": .string(key)])
    }

    /// Makes phones whose apps report; their ids are the prefix and a number, from 1 if not said otherwise.
    package func makePhones(
        _ prefix: String,
        count: Int = 1,
        first: Int = 1,
        of app: BundleID,
        follows activity: ActivityID? = nil,
        osVersion: String = "18.1",
        startTokens: Bool = true
    ) async throws {
        let follows: [JSONValue] = activity.map { [.string($0.rawValue)] } ?? []
        try await control.call(
            "POST",
            "/phones",
            [
                "prefix": .string(prefix), "count": .number(JSONNumber(count)), "first": .number(JSONNumber(first)),
                "environment": "production", "os_version": .string(osVersion), "bundle_id": .string(app.rawValue),
                "types": ["GameAttributes"], "follows": .array(follows),
                "start_tokens": .bool(startTokens),
            ]
        )
    }

    /// Lets something happen at phones whose ids begin with the prefix.
    package func act(_ action: String, at prefix: String, activity: ActivityID, channel: String? = nil) async throws {
        var fields: JSONObject = [
            "action": .string(action), "prefix": .string(prefix), "activity_id": .string(activity.rawValue),
        ]
        if let channel { fields["channel_id"] = .string(channel) }
        try await control.call("POST", "/actions", ["actions": [.object(fields)]])
    }

    /// The same for phones by their ids.
    package func act(_ action: String, at phones: [String], activity: ActivityID) async throws {
        try await control.call(
            "POST",
            "/actions",
            [
                "actions": [
                    [
                        "action": .string(action), "phones": .array(phones.map { .string($0) }),
                        "activity_id": .string(activity.rawValue),
                    ]
                ]
            ]
        )
    }

    /// Sets a fault; `match` and `effect` as the control API takes them.
    package func setFault(
        _ name: String,
        _ effect: JSONValue,
        match: JSONValue = [:],
        probability: Double = 1
    ) async throws {
        try await control.call(
            "POST",
            "/faults",
            [
                "name": .string(name), "match": match, "effect": effect,
                "probability": JSONNumber(probability).map { .number($0) } ?? 1,
            ]
        )
    }

    /// Takes a fault away.
    ///
    /// - Returns: how many requests it has hit.
    package func removeFault(_ name: String) async throws -> Int64 {
        try await control.call("DELETE", "/faults/\(name)")
        return try await control.call("GET", "/summary")["fault_hits"]?[name]?.int64 ?? 0
    }

    /// Apple shows an expired certificate from now on, or a valid one again. Connections are dropped.
    package func showCertificate(expired: Bool) async throws {
        try await control.call("PUT", "/certificate", ["expired": .bool(expired)])
    }

    /// Apple knows a signing key of the app's team.
    package func register(_ key: SigningKeyRequest) async throws {
        try await control.call(
            "POST",
            "/keys",
            [
                "team_id": .string(TallySystem.team.rawValue), "key_id": .string(key.keyID.rawValue),
                "key": .string(key.privateKey ?? ""),
            ]
        )
    }

    /// Apple knows the key no more.
    package func revoke(_ key: KeyID) async throws {
        try await control.call("DELETE", "/keys/\(key.rawValue)")
    }

    /// Pushes of an event arrive as ever, and a share of their answers comes later.
    package func delayAnswers(to event: String, milliseconds: Int, probability: Double) async throws {
        try await setFault(
            "delay-\(event)",
            ["kind": "delay", "milliseconds": .number(JSONNumber(milliseconds))],
            match: ["event": .string(event)],
            probability: probability
        )
    }

    /// Apple takes so few requests at a time on a connection, soon after its beginning.
    package func narrowConnections(to streams: Int) async throws {
        let effect: JSONValue = ["kind": "stream_limit", "value": .number(JSONNumber(streams))]
        try await setFault("narrow", effect, probability: 0.2)
    }

    /// Waits until Tally has accepted everything that phones had to report.
    package func finishReports(within limit: Duration = .seconds(60)) async throws {
        try await eventually("all reports of phones accepted", within: limit) {
            try await control.call("GET", "/summary")["reports"]?["pending"]?.int64 == 0
        }
    }

    /// What Apple answered and phones received, without the reports, which come and go by themselves.
    package func traffic() async throws -> JSONValue {
        var summary = try await control.call("GET", "/summary").object ?? JSONObject()
        summary["reports"] = nil
        return .object(summary)
    }

    /// One phone with every push that it received.
    package func phone(_ id: String) async throws -> PhoneStory {
        PhoneStory(json: try await control.call("GET", "/phones/\(id)"))
    }

    /// Every phone whose id begins so, without the pushes.
    package func phones(_ prefix: String = "") async throws -> [PhoneStory] {
        let page = try await control.call("GET", "/phones?limit=100000&prefix=\(prefix)")
        return (page["items"]?.array ?? []).map(PhoneStory.init)
    }

    /// Compares phones with accepted posts until all are right.
    ///
    /// - Returns: The last report; it is not right if the time was too short.
    package func report(on posts: [PostedChange], within limit: Duration = .seconds(60)) async throws -> MatchReport {
        let lines = posts.map { $0.json.text + "\n" }.joined()
        let deadline = ContinuousClock.now + limit
        while true {
            let answer = try await control.send("POST", "/report", Array(lines.utf8))
            guard answer.status == 200 else { throw Failure("POST /report: \(answer.status)") }
            let report = MatchReport(json: answer.json)
            if report.isRight || ContinuousClock.now >= deadline { return report }
            await pause(.milliseconds(200))
        }
    }
}

/// Lines of NAME=value.
package enum EnvironmentFile {
    package static func read(_ text: String) -> [String: String] {
        Dictionary(
            text.split(separator: "\n").compactMap { line in
                let sides = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return sides.count == 2 ? (String(sides[0]), String(sides[1])) : nil
            }
        ) { $1 }
    }
}

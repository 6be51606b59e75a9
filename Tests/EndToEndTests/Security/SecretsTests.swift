import APITypes
import ActivityModel
import Cryptography
import Foundation
import Glibc
import JSON
import Postgres
import SystemSupport
import TallyClient
import TestSupport
import Testing

/// A canary in every secret place, and a search for all of them in everything that the programs print and answer.
@Suite("Secrets stay secret")
struct SecretsTests {
    private static let payload = "canary-of-the-payload"
    /// In content that is refused; whoever sent it is told what was wrong.
    private static let refused = "canary-that-was-refused"
    private static let password = "canary-of-the-database"
    private static let deviceToken = "c0ffee5ec2e7" + String(repeating: "ab", count: 26)
    private static let path = "/v1/apps/\(TallySystem.app)"

    @Test(
        "none is in logs, metrics, errors, events, the audit log or on the command line",
        arguments: ["text", "json"]
    )
    func search(format: String) async throws {
        try await TallySystem.with { system in
            let hay = Haystack()
            try await restart(system, format, hay)
            let bait = try await plant(system, hay)
            try await live(system, bait, hay)
            try await fail(system, bait, hay)
            try await look(system, bait, hay)
            try await misconfigure(system, hay)
            // What a crash leaves behind is seen by whoever collects logs.
            try system.daemon.signal(SIGABRT)
            _ = try await system.daemon.end(within: .seconds(60))
            hay.add("log of the daemon", try system.daemon.errors + system.daemon.output)
            for place in ["log", "metrics", "events", "audit", "error", "tally ", "tallyd "] {
                #expect(hay.size(place) > 500, "\(place)")
            }
            #expect(hay.found == [])
            if format == "json" {
                // The runtime's own words about the crash are no lines of ours.
                let lines = try system.daemon.errors.split(separator: "\n").filter { $0.hasPrefix("{") }
                #expect(lines.count > 20)
                for line in lines { #expect(throws: Never.self) { try JSONValue(parsing: String(line)) } }
            }
        }
    }

    // MARK: The canaries

    /// What was made with secrets in it.
    private struct Bait {
        let key: String
        let ticket: String
        let pem: String
    }

    /// Starts the daemon anew: it says all that it ever says, and its database asks for a password that must not be
    /// said.
    private func restart(_ system: TallySystem, _ format: String, _ hay: Haystack) async throws {
        await system.killDaemon()
        let url = (system.settings["TALLY_DATABASE_URL"] ?? "").replacing(
            "@",
            with: ":\(Self.password)@",
            maxReplacements: 1
        )
        system.first.change([
            "TALLY_LOG_LEVEL": "trace", "TALLY_LOG_FORMAT": format, "TALLY_DATABASE_URL": url,
        ])
        try await system.startDaemon()
        #expect(url.contains(Self.password))
        hay.plant("the database's password", Self.password)
        hay.plant("the master key", system.settings["TALLY_MASTER_KEY"] ?? "")
        hay.plant("the bootstrap key", TallySystem.adminKey)
        hay.plant("text of a payload", Self.payload)
        hay.plant("the token of a device", String(Self.deviceToken.prefix(12)))
        // Provider tokens are JWTs: their header is {"alg":"ES256","kid":"ABC123DEFG"}.
        hay.plant("a provider token", Base64URL.encode(Array(#"{"alg":"ES256""#.utf8)))
    }

    private func plant(_ system: TallySystem, _ hay: Haystack) async throws -> Bait {
        let client = try system.client()
        let key = try await client.createKey(APIKeyRequest(name: "canary", scopes: [.operate, .publish, .register]))
        let secret = try #require(key.secret)
        hay.plant("an API key", secret)
        let pem = try P256PrivateKey.generate().pem()
        for line in pem.split(separator: "\n") where !line.hasPrefix("-----") {
            hay.plant("a signing key", String(line))
        }
        let app = AppRequest(
            teamID: knownGood(TeamID("ABCDE12345")),
            environments: [.production: SigningKeyRequest(keyID: knownGood(KeyID("CANARY1234")), privateKey: pem)]
        )
        _ = try await client.putApp(TallySystem.app, app)
        for algorithm in TicketAlgorithm.allCases {
            let signer = try await client.createTicketKey(TallySystem.app, TicketKeyRequest(algorithm: algorithm))
            let lines = try #require(signer.secret).split(separator: "\n")
            for line in lines where !line.hasPrefix("-----") { hay.plant("a ticket key", String(line)) }
        }
        let wish: JSONValue = ["environment": "production", "device_id": "holder", "ttl_seconds": 3_600]
        let made = try await system.api(key: secret).call("POST", Self.path + "/registration-tickets", wish)
        let ticket = try #require(made["ticket"]?.string)
        hay.plant("a ticket", String(ticket.dropFirst(16)))
        return Bait(key: secret, ticket: ticket, pem: pem)
    }

    // MARK: The day

    /// A match as it should be, with canaries in all its texts.
    private func live(_ system: TallySystem, _ bait: Bait, _ hay: Haystack) async throws {
        let id = knownGood(ActivityID("match"))
        try await system.simulator.makePhones("fan-", count: 3, of: TallySystem.app, follows: id)
        try await system.simulator.finishReports()
        let api = system.api(key: bait.key)
        let alert: JSONValue = ["title": .string(Self.payload), "body": .string(Self.payload)]
        func state(_ minute: Int64) -> JSONValue {
            var state = OperatorStage.content(minute: minute)
            state["lastEvent"] = .string("\(Self.payload) \(minute)")
            return .object(state)
        }
        let attributes: JSONValue = ["homeTeam": .string(Self.payload), "awayTeam": "PSV", "competition": "Friendly"]
        try await api.call(
            "PUT",
            Self.path + "/activities/match",
            [
                "type": "GameAttributes", "attributes": attributes, "content_state": state(0), "alert": alert,
                "audience": ["devices": ["fan-1", "fan-2", "fan-3"]],
            ]
        )
        let device: JSONValue = ["environment": "production", "device_token": .string(Self.deviceToken)]
        try await HTTPCaller(base: system.url, key: bait.ticket).call("PUT", Self.path + "/devices/holder", device)
        try await eventually("every phone has the start, and its token is known") {
            try await system.activity(id).progress.current == 3
        }
        for table in ["subscriptions", "start_tokens"] {
            let column = table == "subscriptions" ? "update_token" : "token"
            let query: Query = "SELECT encode(\(identifier: column), 'hex') FROM \(identifier: table)"
            let tokens = try await system.database.query(query).decoded(as: String.self)
            #expect(!tokens.isEmpty)
            // Not even the half of one.
            for token in tokens { hay.plant("a token of \(table)", String(token.prefix(16))) }
        }
        try await api.call(
            "POST",
            Self.path + "/activities/match/updates",
            ["content_state": state(1), "alert": alert]
        )
        try await api.call(
            "POST",
            Self.path + "/activities/match/updates",
            ["content_state": state(3), "at": .string(Clock.inSeconds(3_600).description)]
        )
        try await api.call(
            "POST",
            Self.path + "/pushes",
            [
                "to": ["device_id": "holder"], "push_type": "alert", "aps": ["alert": alert],
                "custom": ["secret": .string(Self.payload)],
            ]
        )
        try await eventually("every phone has the update") { try await system.activity(id).progress.current == 3 }
        try await eventually("what came of the push is told") {
            String(decoding: try await events(system).body, as: UTF8.self).contains("push_failed")
        }
    }

    /// Everything wrong that a caller can do with secrets in hand, and that a database can do to a daemon.
    private func fail(_ system: TallySystem, _ bait: Bait, _ hay: Haystack) async throws {
        let state = OperatorStage.content(minute: 2)
        var wrongState = state
        wrongState["homeScore"] = .string(Self.refused)
        hay.plant("text of refused content", Self.refused, allowed: "error of ")
        let wrong: [(String, String, JSONValue)] = [
            ("POST", "/activities/match/updates", ["content_state": .object(wrongState)]),
            ("POST", "/activities/match/updates", ["content_state": .string(Self.refused)]),
            ("POST", "/activities/match/updates", ["content_state": .object(state), "at": .string(Self.payload)]),
            ("POST", "/types/GameAttributes/validate", ["content_state": .object(wrongState)]),
            ("PUT", "/devices/holder", ["environment": "production", "device_token": .string(Self.deviceToken + "0")]),
            ("PUT", "/devices/holder", ["environment": "production", "device_token": .string("z" + Self.deviceToken)]),
            ("PUT", "/activities/match/subscriptions/fan-1", ["update_token": .string("x" + Self.deviceToken)]),
            ("POST", "/pushes", ["to": ["token": .string(Self.deviceToken + "g")], "push_type": "alert", "aps": [:]]),
            (
                "PUT", "/activities/other",
                [
                    "type": "GameAttributes", "attributes": ["homeTeam": .string(Self.payload)],
                    "content_state": .object(state),
                ]
            ),
        ]
        for (method, path, body) in wrong {
            let answer = try await system.api().send(method, Self.path + path, body.serialized())
            // A verdict is an answer like any other.
            #expect((400..<500).contains(answer.status) || path.hasSuffix("validate"), "\(method) \(path) \(body.text)")
            hay.add("error of \(method) \(path)", answer)
        }
        for pem in [bait.pem.replacing("\n", with: ""), String(bait.pem.dropLast(40)), bait.pem.lowercased()] {
            let body: JSONValue = [
                "team_id": "ABCDE12345",
                "environments": ["sandbox": ["key_id": "KEY1234567", "private_key": .string(pem)]],
            ]
            hay.add("error of a key", try await system.api().send("PUT", Self.path, body.serialized()))
        }
        for (place, key) in [("key", bait.key + "x"), ("ticket", bait.ticket + "x")] {
            hay.add("error with a wrong \(place)", try await system.api(key: key).send("GET", "/v1/apps"))
        }
        // Connections break while they are used.
        _ = try await system.database.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        _ = try await eventually("the daemon has its database again") {
            let body: JSONValue = ["content_state": .object(state)]
            let answer = try await system.api(key: bait.key)
                .send("POST", Self.path + "/activities/match/updates", body.serialized())
            hay.add("error of an outage", answer)
            return answer.status == 202
        }
    }

    private func events(_ system: TallySystem) async throws -> HTTPCaller.Answer {
        try await system.api().send("GET", "/v1/events?limit=1000", headers: ["Accept": "application/json"])
    }

    /// Every place where somebody may look.
    private func look(_ system: TallySystem, _ bait: Bait, _ hay: Haystack) async throws {
        hay.add("events", try await events(system))
        hay.add("metrics", try await system.api().send("GET", "/metrics"))
        hay.add("audit", try await system.api().send("GET", "/v1/audit?limit=1000"))
        let lists = ["/v1/apps", "/v1/api-keys", Self.path + "/ticket-keys", Self.path + "/devices"]
        for path in lists + [Self.path, Self.path + "/devices/holder"] {
            hay.add("answer of \(path)", try await system.api().send("GET", path))
        }
        hay.add("answer of timeline", try await system.api().send("GET", Self.path + "/activities/match/timeline"))
        let stage = OperatorStage(system: system)
        let key = ["TALLY_API_KEY": bait.key]
        for words in [
            ["keys", "list"], ["audit"], ["events"], ["doctor"], ["apps", "list"], ["devices", "show", "holder"],
            ["activities", "explain", "match"], ["channels", "list"], ["schedules", "list"], ["nonsense"],
            ["keys", "create"],
            ["types", "list", "--url", "http://127.0.0.1:1"],
        ] {
            for more in [[], ["--json"]] {
                hay.add(
                    "tally \(words)",
                    try await stage.tally(words + more, environment: words[0] == "keys" ? [:] : key)
                )
            }
        }
        hay.add(
            "tally with a wrong key",
            try await stage.tally(["apps", "list"], environment: ["TALLY_API_KEY": bait.key + "x"])
        )
    }

    /// Settings that cannot be used are named, and not shown.
    private func misconfigure(_ system: TallySystem, _ hay: Haystack) async throws {
        let nowhere = "postgres://tally:\(Self.password)@127.0.0.1:1/none?connect_timeout=1"
        let malformed = "postgres://tally:\(Self.password)@[::1/none"
        hay.plant("a master key that is none", "canary-of-a-master-key")
        for (command, changes) in [
            ("config", [:]), ("config", ["TALLY_MASTER_KEY": "canary-of-a-master-key"]),
            ("serve", ["TALLY_MASTER_KEY": "canary-of-a-master-key"]), ("migrate", ["TALLY_DATABASE_URL": nowhere]),
            ("serve", ["TALLY_DATABASE_URL": malformed]),
            ("migrate", ["TALLY_DATABASE_URL": malformed]), ("serve", ["TALLY_HTTP_PORT": "-1"]),
        ] as [(String, [String: String])] {
            let run = try await RunningProgram.run(
                "tallyd",
                [command],
                environment: system.settings.merging(changes) { $1 },
                in: system.folder
            )
            #expect((run.ending == .exited(0)) == changes.isEmpty, "\(command) \(changes.keys)")
            hay.add("tallyd \(command) with another \(changes.keys.joined())", run)
        }
    }
}

import APITypes
import APNSTransport
import ActivityModel
import BenchSupport
import Cryptography
import Intake
import JSON
import Orchestrator
import Postgres
import Registry

/// The app, the type, the activities and the devices that a figure is measured with. Rows of which there are many are
/// mostly copied in the database; that is not what is measured.
struct Scene: Sendable {
    static let app = BundleID(stored: "com.example.matchday")
    static let type = ActivityTypeName(stored: "Match")
    static let first = ActivityID(stored: "match-1")

    let orchestrator: Orchestrator

    static func activity(_ number: Int) -> ActivityID { ActivityID(stored: "match-\(number)") }

    static func device(_ number: Int) -> DeviceID { DeviceID(stored: "device-\(number)") }

    /// A state that says a number of up to seven digits; with it the body of an update has 400 bytes.
    static func state(_ number: Int) -> JSONObject {
        JSONObject([
            ("clock", .number(JSONNumber(Int64(1_000_000 + number)))), ("home_score", .number(JSONNumber(Int64(3)))),
            ("period", .string("penalties")), ("last_event", .string(lastEvent)),
        ])
    }

    /// The number in a body with such a state.
    static func number(in body: [UInt8]) -> Int? {
        let marker = Array(#""clock":"#.utf8)
        guard let start = body.firstRange(of: marker)?.upperBound else { return nil }
        let digits = body[start...].prefix { (0x30...0x39).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self)).map { $0 - 1_000_000 }
    }

    private static let lastEvent: String = {
        let sentence = "Mbappe scores. "
        let without = body(lastEvent: "").count
        return String(String(repeating: sentence, count: 400 / sentence.count).prefix(400 - without))
    }()

    private static func body(lastEvent: String) -> [UInt8] {
        let state = JSONObject([
            ("clock", .number(JSONNumber(Int64(1_000_000)))), ("home_score", .number(JSONNumber(Int64(3)))),
            ("period", .string("penalties")), ("last_event", .string(lastEvent)),
        ])
        let content = LiveActivityBody.Content(contentState: CompactJSON(.object(state)))
        return LiveActivityBody.update(content, timestamp: 1_763_700_000)
    }

    private static let start = StartRequest(
        type: type,
        attributes: JSONObject([("home", .string("Argentina")), ("away", .string("France"))]),
        contentState: state(0),
        alert: AlertContent(title: .plain("Kick-off"), body: .plain("Argentina against France"))
    )

    /// Starts the activities from the second to the one of this number, each by itself: the daemon knows of them then
    /// what it knows of those that it has started.
    func startActivities(upTo count: Int) async throws {
        try await Callers(count: 64).run(2...count) { number in
            _ = try await orchestrator.intake.start(Self.app, Self.activity(number), Self.start, origin: nil)
        }
    }

    /// Registers the app and the type, and starts the first activity.
    func prepare() async throws {
        let key = try SigningKeyRequest(keyID: KeyID(stored: "FGHIJ67890"), privateKey: P256PrivateKey.generate().pem())
        _ = try await orchestrator.registry.putApp(
            Self.app,
            AppRequest(teamID: TeamID(stored: "ABCDE12345"), environments: [.production: key])
        )
        let object = try JSONValue(parsing: #"{"type":"object"}"#)
        _ = try await orchestrator.registry.putType(
            Self.app,
            Self.type,
            TypeRequest(source: .schemas(attributes: object, contentState: object)),
            force: false
        )
        _ = try await orchestrator.intake.start(Self.app, Self.first, Self.start, origin: nil)
        _ = try await work(
            until: "SELECT every(completed_revision = 1 AND lease_owner IS NULL) FROM segments",
            "the start is served",
            within: .seconds(60)
        )
    }

    /// Starts the activities from the second to the one of this number, as copies of the first.
    func addActivities(upTo count: Int) async throws {
        try await script(
            """
            WITH made AS (
                INSERT INTO activities OVERRIDING SYSTEM VALUE
                SELECT (jsonb_populate_record(a, jsonb_build_object('activity_id', 'match-' || n, 'activity_key', a.activity_key + n - 1))).*
                FROM activities AS a, generate_series(2, \(count)) AS n WHERE a.activity_id = 'match-1'
                RETURNING activity_key
            ), changed AS (
                INSERT INTO changes
                SELECT (jsonb_populate_record(c, jsonb_build_object('activity_key', made.activity_key))).*
                FROM made, changes AS c
            )
            INSERT INTO segments
            SELECT (jsonb_populate_record(s, jsonb_build_object('activity_key', made.activity_key))).*
            FROM made, segments AS s;
            """
        )
    }

    func addDevices(_ count: Int) async throws {
        try await script(
            """
            INSERT INTO devices (bundle_id, device_id, environment, os_version)
            SELECT 'com.example.matchday', 'device-' || n, 'production', '18.1' FROM generate_series(1, \(count)) AS n
            ORDER BY n;
            """
        )
    }

    /// Gives every device an update token of 80 bytes: so many devices follow the first activity, as many the next, and
    /// so on.
    func addSubscriptions(ofEach count: Int) async throws {
        let activity = "'match-' || (substr(d.device_id, 8)::int - 1) / \(count) + 1"
        try await script(
            """
            INSERT INTO subscriptions (activity_key, device_key, mode, state, update_token, known_revision)
            SELECT a.activity_key, d.device_key, 'token', 'riding', \(Self.token(of: "d.device_key")), 1
            FROM devices AS d JOIN activities AS a ON a.bundle_id = d.bundle_id AND a.activity_id = \(activity)
            ORDER BY d.device_key;
            """
        )
    }

    /// Gives every device a start token of 80 bytes for the type.
    func addStartTokens() async throws {
        try await script(
            """
            INSERT INTO start_tokens (device_key, type_name, token)
            SELECT device_key, '\(Self.type.rawValue)', \(Self.token(of: "device_key")) FROM devices ORDER BY device_key;
            """
        )
    }

    /// As a running server has it: statistics gathered, dead rows gone, nothing left to be written.
    func rest() async throws {
        for statement in ["VACUUM (ANALYZE, FREEZE)", "CHECKPOINT"] {
            try await orchestrator.database.withConnection { connection in
                try await connection.executeScript(statement, timeout: .seconds(1800))
            }
        }
    }

    /// Waits until a query says true.
    ///
    /// - Parameters:
    ///   - query: SQL with one row of one boolean.
    ///   - what: What that means, for the error.
    ///   - patience: After so long it is an error.
    ///   - interval: How often it is asked.
    /// - Returns: When it was true.
    /// - Throws: ``Mistake`` when the patience is over.
    func work(
        until query: String,
        _ what: String,
        within patience: Duration = .seconds(600),
        every interval: Duration = .milliseconds(1)
    ) async throws -> ContinuousClock.Instant {
        let end = ContinuousClock.now + patience
        while true {
            let isDone = try await orchestrator.database.query(Query(unescaped: query)).first(as: Bool?.self) ?? nil
            if isDone == true { return .now }
            guard ContinuousClock.now < end else { throw Mistake("waited \(patience) in vain until \(what)") }
            try await Task.sleep(for: interval)
        }
    }

    /// 80 bytes that begin with a key.
    private static func token(of key: String) -> String {
        "int8send(\(key)) || sha512(int8send(\(key))) || int8send(\(key))"
    }

    private func script(_ sql: String) async throws {
        try await orchestrator.database.withConnection { connection in
            try await connection.executeScript(
                // Foreign keys are not looked at: the rows are ours, and a million looks take their time.
                "BEGIN; SET LOCAL session_replication_role = replica; \(sql) COMMIT",
                timeout: .seconds(1800)
            )
        }
    }
}

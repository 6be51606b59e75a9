import APITypes
import ReportTypes
import Testing

@testable import Doctor

/// Figures in, verdicts out.
@Suite("The doctor's judgement")
struct JudgementTests {
    private static let healthy: DatabaseFacts = {
        var facts = DatabaseFacts(versionNumber: 150_020, version: "15.20", connections: 20, maximumConnections: 100)
        facts.settings = [
            "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "autovacuum": "on",
            "server_encoding": "UTF8", "transaction_read_only": "off",
        ]
        return facts
    }()

    @Test("a server as it should be has nothing against it")
    func healthyServer() {
        #expect(Self.healthy.checks.map(\.verdict) == [.ok, .ok, .ok])
    }

    @Test(
        "each setting that breaks a promise is broken, each that only risks something a warning",
        arguments: [
            ("fsync", "off", DoctorVerdict.broken), ("synchronous_commit", "off", .broken),
            ("synchronous_commit", "local", .ok), ("server_encoding", "SQL_ASCII", .broken),
            ("transaction_read_only", "on", .broken), ("full_page_writes", "off", .warning),
            ("autovacuum", "off", .warning),
        ]
    )
    func setting(name: String, value: String, verdict: DoctorVerdict) throws {
        var facts = Self.healthy
        facts.settings[name] = value
        let check = try #require(facts.checks.first { $0.check == "database_settings" })
        #expect(check.verdict == verdict)
        #expect((check.advice == nil) == (verdict == .ok))
    }

    @Test(
        "each fault of the database has advice of its own",
        arguments: [
            ("fsync", "off", "postgresql.conf"), ("autovacuum", "off", "postgresql.conf"),
            ("full_page_writes", "off", "postgresql.conf"), ("synchronous_commit", "off", "for the server,"),
            ("server_encoding", "LATIN1", "createdb --encoding UTF8 --template template0"),
            ("transaction_read_only", "on", "default_transaction_read_only"),
        ]
    )
    func advice(name: String, value: String, words: String) throws {
        var facts = Self.healthy
        facts.settings[name] = value
        let check = try #require(facts.checks.first { $0.check == "database_settings" })
        #expect(check.advice?.contains(words) == true)
        facts.settings["fsync"] = "off"
        let both = try #require(facts.checks.first { $0.check == "database_settings" })
        #expect(both.advice?.contains("Set fsync to on") == true && both.advice?.contains(words) == true)
    }

    @Test(
        "while the master key is replaced, daemons need only one in common",
        arguments: [
            (["new old", "old"], true), (["new old", "old", "new"], false), (["a", "b"], false), (["a"], true),
        ]
    )
    func masterKeys(values: [String], isFine: Bool) {
        #expect((Examination.check(of: "TALLY_MASTER_KEY", values) == nil) == isFine)
    }

    @Test("an old server and one without connections left are worth a warning, a standby is broken")
    func server() {
        var facts = Self.healthy
        facts.versionNumber = 140_011
        #expect(facts.checks.map(\.verdict) == [.warning, .ok, .ok])
        facts = Self.healthy
        facts.connections = 90
        #expect(facts.checks.map(\.verdict) == [.ok, .ok, .warning])
        facts = Self.healthy
        facts.isStandby = true
        #expect(facts.checks.map(\.verdict) == [.ok, .broken, .ok])
    }

    @Test(
        "a disk fills up where WAL is kept for a slot that is far behind, or because it cannot be archived",
        arguments: [
            (nil, false, DoctorVerdict.ok), (DiskFacts.longestKept, false, .ok),
            (DiskFacts.longestKept + 1, false, .warning), (nil, true, .warning),
        ] as [(Int64?, Bool, DoctorVerdict)]
    )
    func disk(kept: Int64?, archivingFails: Bool, verdict: DoctorVerdict) {
        var facts = DiskFacts(bytes: 20 << 30, archivingFails: archivingFails)
        facts.slot = kept.map { DiskFacts.Slot(name: "standby", isActive: false, bytes: $0) }
        #expect(facts.check.verdict == verdict)
        #expect(facts.check.finding.contains("20 GiB"))
        #expect((facts.check.advice == nil) == (verdict == .ok))
        #expect(facts.check.finding.contains("'standby'") == (verdict == .warning && kept != nil))
    }

    @Test(
        "clocks are compared with what the question's way may have taken in their favour",
        arguments: [
            // asked, answered, database, all in ms; the skew in ms, the verdict
            (0, 10, 5, 0, DoctorVerdict.ok), (0, 3_000, 2_900, 0, .ok), (0, 10, 1_010, 1_000, .ok),
            (0, 10, 2_010, 2_000, .warning), (0, 10, -2_000, -2_000, .warning), (0, 10, 60_010, 60_000, .broken),
            (0, 10, -3_600_000, -3_600_000, .broken),
        ] as [(Int64, Int64, Int64, Int64, DoctorVerdict)]
    )
    func clocks(asked: Int64, answered: Int64, database: Int64, skew: Int64, verdict: DoctorVerdict) {
        func instant(_ milliseconds: Int64) -> Instant {
            Instant(microseconds: 1_763_700_000_000_000 + milliseconds * 1_000)
        }
        let clocks = ClockComparison(
            asked: instant(asked),
            answered: instant(answered),
            database: instant(database)
        )
        #expect(clocks.skew == skew * 1_000)
        #expect(clocks.check.verdict == verdict)
    }

    @Test(
        "channels: failures, the quota and unknown ones",
        arguments: [
            (nil, 0, 0, DoctorVerdict.ok), (8_999, 0, 0, .ok), (9_000, 0, 0, .warning), (10_000, 0, 0, .broken),
            (5, 0, 1, .warning), (5, 2, 0, .warning),
        ] as [(Int?, Int, Int, DoctorVerdict)]
    )
    func quota(atApple: Int?, failures: Int, unknown: Int, verdict: DoctorVerdict) {
        let quota = ChannelQuota(atApple: atApple, failures: failures, unknown: unknown)
        #expect(quota.check(of: "com.example (production)", app: "com.example").verdict == verdict)
    }

    private static let kindsOfWork: [WorkFacts.Kind: String] = [
        .segment: "a segment's pushes", .schedule: "a schedule", .push: "an ordinary push",
        .event: "an event that nobody may read yet", .channelDeletion: "a channel's deletion",
    ]

    @Test(
        "work that nobody takes up is worth a warning after ten seconds, and broken after a minute",
        arguments: [
            (0, .ok), (9.9, .ok), (10, .warning), (59.9, .warning), (60, .broken),
        ] as [(Double, DoctorVerdict)]
    )
    func dueWork(seconds: Double, verdict: DoctorVerdict) throws {
        for (kind, words) in Self.kindsOfWork {
            var facts = WorkFacts()
            facts.waiting[kind] = seconds
            let check = try #require(facts.checks.first { $0.check == "due_work" })
            #expect(check.verdict == verdict)
            #expect(check.finding.contains(words) == (seconds > 0))
            #expect((check.advice == nil) == (verdict == .ok))
        }
    }

    @Test(
        "a webhook that has failed for a quarter of an hour is told before it is paused",
        arguments: [
            (14, nil), (15, "15 min"), (20, "20 min"), (185, "3 h"), (2_880, "2 days"),
        ] as [(Int, String?)]
    )
    func failingWebhook(minutes: Int, words: String?) throws {
        let facts = WebhookFacts(
            app: "com.example.app",
            id: "audit",
            pausedFor: nil,
            failingFor: .seconds(60 * minutes),
            error: "no connection"
        )
        guard let words else {
            #expect(facts.check == nil)
            return
        }
        let check = try #require(facts.check)
        #expect(check.verdict == .warning)
        #expect(check.finding.contains(words) && check.finding.contains("no connection"))
    }
}

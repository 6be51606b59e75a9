import APITypes
import Postgres
import ReportTypes
import Store

extension Examination {
    /// How many seconds the highest stamp of a running activity is ahead of the database's clock, if more than it may
    /// be (promise 3).
    func stampCheck() async throws -> DoctorCheck {
        let rows = try await database.query(
            """
            SELECT greatest(coalesce(max(stamp), 0) - floor(extract(epoch FROM clock_timestamp()))::int8, 0)
            FROM activities WHERE state = 'live' AND (\(app)::text IS NULL OR bundle_id = \(app))
            """,
            timeout: Self.patience
        )
        let ahead = try rows.single(Int64.self) ?? 0
        guard ahead > Self.allowedAhead else { return DoctorCheck("stamps", .ok, "no timestamp runs ahead") }
        let finding = "Timestamps run \(ahead) s ahead of the database's clock, which must have been set back."
        let advice = "Nothing is lost: they wait for the clock. Let the database's machine follow NTP without steps."
        return DoctorCheck("stamps", .warning, finding, advice: advice)
    }

    private static let allowedAhead: Int64 = 2

    /// Where sending stands still.
    func haltChecks() async throws -> [DoctorCheck] {
        let rows = try await database.query(
            """
            SELECT bundle_id, environment::text, answers, rejections FROM sending_halts
            WHERE (\(app)::text IS NULL OR bundle_id = \(app)) AND (\(environment)::text IS NULL OR environment::text = \(environment))
            ORDER BY bundle_id, environment
            """,
            timeout: Self.patience
        )
        let halts = try rows.decoded(as: (String, String, Int32, Int32).self)
        guard !halts.isEmpty else { return [DoctorCheck("sending", .ok, "not halted")] }
        return halts.map { app, environment, answers, rejections in
            DoctorCheck(
                "sending",
                of: "\(app) (\(environment))",
                .broken,
                "Sending is halted: APNs rejected \(rejections) of \(answers) tokens within a minute.",
                advice: "Check that the key belongs to this team and environment. Then run `tally apps resume \(app) "
                    + "--environment \(environment)` (docs/guides/on-call.md#tallysendinghalted). If the key is right and "
                    + "the tokens are wrong, for example of sandbox builds that report to production, add "
                    + "`--leave-rejected`."
            )
        }
    }

    /// How much of Apple's quota of channels is taken, and what Apple has that we do not know.
    func channelChecks() async throws -> [DoctorCheck] {
        let rows = try await database.query(
            """
            SELECT s.bundle_id, s.environment::text, s.at_apple, s.failures,
                   (SELECT count(*) FROM unknown_channels AS u
                    WHERE u.bundle_id = s.bundle_id AND u.environment = s.environment)
            FROM channel_sweeps AS s
            WHERE (\(app)::text IS NULL OR s.bundle_id = \(app))
              AND (\(environment)::text IS NULL OR s.environment::text = \(environment))
            ORDER BY 1, 2
            """,
            timeout: Self.patience
        )
        return try rows.decoded(as: (String, String, Int32?, Int16, Int64).self).map {
            app,
            environment,
            atApple,
            failures,
            unknown in
            ChannelQuota(atApple: atApple.map(Int.init), failures: Int(failures), unknown: Int(unknown))
                .check(of: "\(app) (\(environment))", app: app)
        }
    }
}

/// The channels that an app has at Apple in one environment.
struct ChannelQuota: Sendable {
    /// Nil before the first comparison with Apple's list.
    let atApple: Int?
    /// Comparisons in a row that came to nothing.
    let failures: Int
    /// Channels at Apple that we have no record of.
    let unknown: Int

    func check(of subject: String, app: String) -> DoctorCheck {
        func check(_ verdict: DoctorVerdict, _ finding: String, _ advice: String?) -> DoctorCheck {
            DoctorCheck("channels", of: subject, verdict, finding, advice: advice)
        }
        let quota = ChannelReport.quota
        if failures > 0 {
            return check(
                .warning,
                "The last \(failures) comparisons with Apple's list of channels failed.",
                "See why with `tally channels reconcile --dry-run --app \(app)`. An app without the broadcast capability needs no "
                    + "channels: nothing is to be done then."
            )
        }
        guard let atApple else { return check(.ok, "not compared with Apple's list yet", nil) }
        let taken = "\(atApple) of \(quota) channels taken"
        if atApple * 10 >= quota * 9 {
            return check(
                atApple >= quota ? .broken : .warning,
                taken + ".",
                "End activities that are over, or delete channels that nobody uses: `tally channels reconcile --app \(app)`."
            )
        }
        if unknown > 0 {
            return check(
                .warning,
                "\(taken), \(unknown) of them unknown to Tally.",
                "If no other system makes channels for this app, declare it channels_exclusive: they are deleted then. "
                    + "`tally channels reconcile --dry-run --app \(app)` lists them."
            )
        }
        return check(.ok, taken, nil)
    }
}

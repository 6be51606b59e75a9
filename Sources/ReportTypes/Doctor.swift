package import APITypes
package import ActivityModel
package import JSON

/// `POST /v1/doctor`: checks everything that sending depends on.
package struct DoctorRequest: Sendable, Hashable {
    /// The only app to check; nil: all apps that the key can access.
    package var bundleID: BundleID?
    /// The only environment to check; nil: all configured ones.
    package var environment: APNSEnvironment?
    /// Whether to create and delete a test channel for each app and environment. This tests the key, the team and the
    /// broadcast capability.
    package var triesChannels: Bool

    package init(bundleID: BundleID? = nil, environment: APNSEnvironment? = nil, triesChannels: Bool = false) {
        self.bundleID = bundleID
        self.environment = environment
        self.triesChannels = triesChannels
    }
}

extension DoctorRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("bundle_id", \.bundleID, .bundleID),
        .optional("environment", \.environment, .word(APNSEnvironment.self)),
        .optional("try_channels", \.triesChannels, .bool, unless: false),
        make: Self.init
    )
}

/// The result of a check. The greater, the worse.
package enum DoctorVerdict: String, Sendable, Hashable, CaseIterable, Comparable {
    case ok
    /// It works, but somebody should look at it.
    case warning
    /// It does not work, or a promise is broken.
    case broken

    package static func < (left: DoctorVerdict, right: DoctorVerdict) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// One check and its result.
package struct DoctorCheck: Sendable, Hashable {
    /// A stable word, such as `signing_key`.
    package var check: String
    /// The object of the check, such as an app and environment, or an address.
    package var subject: String?
    package var verdict: DoctorVerdict
    package var finding: String
    /// What to do next. Absent only if the verdict is `ok`.
    package var advice: String?

    package init(
        _ check: String,
        of subject: String? = nil,
        _ verdict: DoctorVerdict,
        _ finding: String,
        advice: String? = nil
    ) {
        self.check = check
        self.subject = subject
        self.verdict = verdict
        self.finding = finding
        self.advice = advice
    }
}

extension DoctorCheck: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("check", \.check, .string),
        .optional("subject", \.subject, .string),
        .required("verdict", \.verdict, .word(DoctorVerdict.self)),
        .required("finding", \.finding, .string),
        .optional("advice", \.advice, .string),
        make: Self.init
    )
}

/// The results of all checks.
package struct DoctorReport: Sendable, Hashable {
    /// By the daemon's clock.
    package var checkedAt: Instant
    package var checks: [DoctorCheck]

    package init(checkedAt: Instant, checks: [DoctorCheck]) {
        self.checkedAt = checkedAt
        self.checks = checks
    }

    /// The worst verdict of all checks.
    package var verdict: DoctorVerdict { checks.map(\.verdict).max() ?? .ok }
}

extension DoctorReport: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let checkedAt = reader.required("checked_at", .time)
        let checks = reader.required("checks", .list(of: .object(DoctorCheck.self)))
        guard reader.finish(), let checkedAt, let checks else { return nil }
        self.init(checkedAt: checkedAt, checks: checks)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("verdict", verdict.rawValue)
        fields.add("checked_at", checkedAt)
        fields.add("checks", checks)
        return fields.json
    }
}

package import ActivityModel
import JSON

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

extension DoctorRequest: APIRequest, APIObject {
    package static let fields = FieldTable({ Self() }) {
        optional("bundle_id", .bundleID, \.bundleID)
        optional("environment", .word(APNSEnvironment.self), \.environment)
        defaulted("try_channels", .bool, \.triesChannels, omitting: false)
    }
}

/// The result of a check. The greater, the worse.
package enum DoctorVerdict: String, Sendable, Hashable, CaseIterable, Comparable {
    case ok
    /// It works, but somebody should look at it.
    case warning
    /// It does not work, or a promise is broken.
    case broken

    package static func < (left: DoctorVerdict, right: DoctorVerdict) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .ok: 0
        case .warning: 1
        case .broken: 2
        }
    }
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

extension DoctorCheck: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self($0, $1, $2) }) {
        required("check", .string, \.check)
        optional("subject", .string, \.subject)
        required("verdict", .word(DoctorVerdict.self), \.verdict)
        required("finding", .string, \.finding)
        optional("advice", .string, \.advice)
    }
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

extension DoctorReport: APIAnswer, APIObject {
    package static let fields = FieldTable(Self.init) {
        computed("verdict", .word(DoctorVerdict.self), \.verdict)
        required("checked_at", .time, \.checkedAt)
        required("checks", .list(of: .object(DoctorCheck.self)), \.checks)
    }
}

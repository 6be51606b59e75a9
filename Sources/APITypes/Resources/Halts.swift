package import ActivityModel
import JSON

/// Halted sending of one environment of an app, as answers show it.
package struct HaltResource: Sendable, Hashable {
    package var environment: APNSEnvironment
    package var haltedAt: Instant
    /// APNs' answers in the minute before the halt.
    package var answers: Int
    /// How many of them rejected a token.
    package var rejections: Int
    /// How often Tally has tried a few pushes since.
    package var probes: Int
    /// When it tries the next few.
    package var nextProbeAt: Instant
    /// Whether sending will resume as soon as all rejected tokens have been put back.
    package var isResuming: Bool

    package init(
        environment: APNSEnvironment,
        haltedAt: Instant,
        answers: Int,
        rejections: Int,
        probes: Int,
        nextProbeAt: Instant,
        isResuming: Bool
    ) {
        self.environment = environment
        self.haltedAt = haltedAt
        self.answers = answers
        self.rejections = rejections
        self.probes = probes
        self.nextProbeAt = nextProbeAt
        self.isResuming = isResuming
    }
}

extension HaltResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("environment", \.environment, .word(APNSEnvironment.self)),
        .required("halted_at", \.haltedAt, .time),
        .required("answers", \.answers, .int),
        .required("rejections", \.rejections, .int),
        .required("probes", \.probes, .int),
        .required("next_probe_at", \.nextProbeAt, .time),
        .required("resuming", \.isResuming, .bool),
        make: Self.init
    )
}

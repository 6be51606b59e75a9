package import ActivityModel
package import JSON

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

    package init(
        environment: APNSEnvironment,
        haltedAt: Instant,
        answers: Int,
        rejections: Int,
        probes: Int,
        nextProbeAt: Instant
    ) {
        self.environment = environment
        self.haltedAt = haltedAt
        self.answers = answers
        self.rejections = rejections
        self.probes = probes
        self.nextProbeAt = nextProbeAt
    }
}

extension HaltResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let environment = reader.required("environment", .word(APNSEnvironment.self))
        let haltedAt = reader.required("halted_at", .time)
        let answers = reader.required("answers", .int)
        let rejections = reader.required("rejections", .int)
        let probes = reader.required("probes", .int)
        let nextProbeAt = reader.required("next_probe_at", .time)
        guard reader.finish(), let environment, let haltedAt, let answers, let rejections, let probes, let nextProbeAt
        else { return nil }
        self.init(
            environment: environment,
            haltedAt: haltedAt,
            answers: answers,
            rejections: rejections,
            probes: probes,
            nextProbeAt: nextProbeAt
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("environment", environment.rawValue)
        fields.add("halted_at", haltedAt)
        fields.add("answers", answers)
        fields.add("rejections", rejections)
        fields.add("probes", probes)
        fields.add("next_probe_at", nextProbeAt)
        return fields.json
    }
}

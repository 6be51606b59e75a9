package import APITypes
package import ActivityModel
import JSON

extension ReplayReport: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("phones", \.phones, .int),
        .required("right", \.right, .int),
        .required("wrong", \.wrong, .list(of: .object(WrongPhone.self))),
        .required("pushes", \.pushes, .list(of: .object(PushCount.self))),
        .required("latency_ms", \.latency, .object(Latency.self)),
        .required("ignored", \.ignored, .list(of: .object(IgnoredCount.self))),
        .required("second_cards", \.secondCards, .int),
        .required("reports_pending", \.reportsPending, .int),
        make: Self.init
    )
}

extension ReplayReport.PushCount: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("event", \.event, .string),
        .required("priority", \.priority, .int),
        .required("count", \.count, .int),
        make: Self.init
    )
}

extension ReplayReport.IgnoredCount: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("reason", \.reason, .string),
        .required("count", \.count, .int),
        make: Self.init
    )
}

extension ReplayReport.WrongPhone: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("phone", \.phone, .deviceID),
        .required("activity_id", \.activity, .activityID),
        .required("why", \.why, .string),
        make: Self.init
    )
}

extension ReplayReport.Latency: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .optional("p50", \.p50, .int64),
        .optional("p99", \.p99, .int64),
        .optional("max", \.maximum, .int64),
        .required("measured", \.measured, .int),
        .required("caught_up", \.caughtUp, .int),
        make: Self.init
    )
}

package import APITypes
import ActivityModel
import JSON

extension ReplayReport: APIAnswer, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("phones", .int, \.phones)
        required("right", .int, \.right)
        required("wrong", .list(of: .object(WrongPhone.self)), \.wrong)
        required("pushes", .list(of: .object(PushCount.self)), \.pushes)
        required("latency_ms", .object(Latency.self), \.latency)
        required("ignored", .list(of: .object(IgnoredCount.self)), \.ignored)
        required("second_cards", .int, \.secondCards)
        required("reports_pending", .int, \.reportsPending)
    }
}

extension ReplayReport.PushCount: APIAnswer, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("event", .string, \.event)
        required("priority", .int, \.priority)
        required("count", .int, \.count)
    }
}

extension ReplayReport.IgnoredCount: APIAnswer, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("reason", .string, \.reason)
        required("count", .int, \.count)
    }
}

extension ReplayReport.WrongPhone: APIAnswer, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("phone", .deviceID, \.phone)
        required("activity_id", .activityID, \.activity)
        required("why", .string, \.why)
    }
}

extension ReplayReport.Latency: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(measured: $0, caughtUp: $1) }) {
        optional("p50", .int64, \.p50)
        optional("p99", .int64, \.p99)
        optional("max", .int64, \.maximum)
        required("measured", .int, \.measured)
        required("caught_up", .int, \.caughtUp)
    }
}

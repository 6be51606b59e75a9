package import APITypes
import ActivityModel
package import JSON

extension ReplayReport: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let phones = reader.required("phones", .int)
        let right = reader.required("right", .int)
        let wrong = reader.required("wrong", .list(of: .object(WrongPhone.self)))
        let pushes = reader.required("pushes", .list(of: .object(PushCount.self)))
        let latency = reader.required("latency_ms", .object(Latency.self))
        let ignored = reader.required("ignored", .list(of: .object(IgnoredCount.self)))
        let secondCards = reader.required("second_cards", .int)
        let reportsPending = reader.required("reports_pending", .int)
        guard reader.finish(), let phones, let right, let wrong, let pushes, let latency, let ignored, let secondCards,
            let reportsPending
        else { return nil }
        self.init(
            phones: phones,
            right: right,
            wrong: wrong,
            pushes: pushes,
            latency: latency,
            ignored: ignored,
            secondCards: secondCards,
            reportsPending: reportsPending
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("phones", phones)
        fields.add("right", right)
        fields.add("wrong", wrong)
        fields.add("pushes", pushes)
        fields.add("latency_ms", latency)
        fields.add("ignored", ignored)
        fields.add("second_cards", secondCards)
        fields.add("reports_pending", reportsPending)
        return fields.json
    }
}

extension ReplayReport.PushCount: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let event = reader.required("event", .string)
        let priority = reader.required("priority", .int)
        let count = reader.required("count", .int)
        guard reader.finish(), let event, let priority, let count else { return nil }
        self.init(event: event, priority: priority, count: count)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("event", event)
        fields.add("priority", priority)
        fields.add("count", count)
        return fields.json
    }
}

extension ReplayReport.IgnoredCount: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let reason = reader.required("reason", .string)
        let count = reader.required("count", .int)
        guard reader.finish(), let reason, let count else { return nil }
        self.init(reason: reason, count: count)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("reason", reason)
        fields.add("count", count)
        return fields.json
    }
}

extension ReplayReport.WrongPhone: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let phone = reader.required("phone", .deviceID)
        let activity = reader.required("activity_id", .activityID)
        let why = reader.required("why", .string)
        guard reader.finish(), let phone, let activity, let why else { return nil }
        self.init(phone: phone, activity: activity, why: why)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("phone", phone.rawValue)
        fields.add("activity_id", activity.rawValue)
        fields.add("why", why)
        return fields.json
    }
}

extension ReplayReport.Latency: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let p50 = reader.optional("p50", .int64)
        let p99 = reader.optional("p99", .int64)
        let maximum = reader.optional("max", .int64)
        let measured = reader.required("measured", .int)
        let caughtUp = reader.required("caught_up", .int)
        guard reader.finish(), let measured, let caughtUp else { return nil }
        self.init(p50: p50, p99: p99, maximum: maximum, measured: measured, caughtUp: caughtUp)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("p50", p50)
        fields.add("p99", p99)
        fields.add("max", maximum)
        fields.add("measured", measured)
        fields.add("caught_up", caughtUp)
        return fields.json
    }
}

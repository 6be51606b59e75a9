import JSON

/// Counts the results of all pushes that phones received.
struct VerdictCounts {
    private var verdicts: [String: Int] = [:]
    private var reasons: [IgnoreReason: Int] = [:]

    mutating func add(_ phone: Phone) {
        for push in phone.received {
            verdicts[push.verdict.word, default: 0] += 1
            if case .ignored(let reason) = push.verdict {
                reasons[reason, default: 0] += 1
            }
        }
    }

    /// Pushes by result.
    var received: JSONValue {
        .object(JSONObject(verdicts.sorted { $0.key < $1.key }.map { ($0, .number(JSONNumber($1))) }))
    }

    var ignoredJSON: JSONValue {
        let sorted = reasons.sorted { $0.key.rawValue < $1.key.rawValue }
        return .object(JSONObject(sorted.map { ($0.rawValue, .number(JSONNumber($1))) }))
    }
}

extension ReceivedPushCounts {
    /// One object per row of the table, sorted.
    var json: [JSONValue] {
        counts.sorted { left, right in
            let (a, b) = (left.key, right.key)
            return (a.event, a.priority, a.status, a.reason ?? "") < (b.event, b.priority, b.status, b.reason ?? "")
        }
        .map { key, count in
            var object: JSONObject = [
                "event": .string(key.event), "priority": .number(JSONNumber(key.priority)),
                "status": .number(JSONNumber(key.status)),
            ]
            object["reason"] = key.reason.map { .string($0) }
            object["count"] = .number(JSONNumber(count))
            return .object(object)
        }
    }
}

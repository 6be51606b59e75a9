import ActivityModel

extension ReplayReport {
    /// The report for people, at most 80 columns wide, without a newline at the end.
    package var table: String {
        var lines = [
            row("phones right", "\(grouped(right)) of \(grouped(phones))"),
            row("second cards", grouped(secondCards)),
        ]
        if reportsPending > 0 {
            lines.append(row("reports that Tally has not accepted", grouped(reportsPending)))
        }
        lines += ["", row("pushes received", "priority 5", "priority 10")]
        for event in events {
            lines.append(row("  " + event, grouped(count(event, 5)), grouped(count(event, 10))))
        }
        lines += ["", row("from post to push received", "p50", "p99", "max")]
        lines.append(row("  " + measure, time(latency.p50), time(latency.p99), time(latency.maximum)))
        lines += ["", row("pushes that phones ignored", grouped(ignored.reduce(0) { $0 + $1.count }))]
        for reason in ignored {
            lines.append(row("  " + reason.reason, grouped(reason.count)))
        }
        guard !wrong.isEmpty else { return lines.joined(separator: "\n") }
        lines += ["", "phones that are wrong"]
        for phone in wrong.prefix(10) {
            lines.append(String("  \(phone.phone) \(phone.activity): \(phone.why)".prefix(80)))
        }
        if wrong.count > 10 {
            lines.append("  and \(grouped(wrong.count - 10)) more")
        }
        return lines.joined(separator: "\n")
    }

    private var events: [String] {
        let others = Set(pushes.map(\.event)).subtracting(["start", "update", "end"])
        return ["start", "update", "end"] + others.sorted()
    }

    private func count(_ event: String, _ priority: Int) -> Int {
        pushes.filter { $0.event == event && $0.priority == priority }.reduce(0) { $0 + $1.count }
    }

    private var measure: String {
        let caughtUp = latency.caughtUp == 0 ? "" : ", \(grouped(latency.caughtUp)) caught up later"
        return "\(grouped(latency.measured)) pushes\(caughtUp)"
    }

    private func time(_ milliseconds: Int64?) -> String {
        milliseconds.map { "\(grouped(Int($0))) ms" } ?? "-"
    }

    /// The first column has 41 characters, the others 13 and right-aligned: 80 with three of them.
    private func row(_ first: String, _ others: String...) -> String {
        let start = first + String(repeating: " ", count: max(1, 41 - first.count))
        return start + others.map { String(repeating: " ", count: max(1, 13 - $0.count)) + $0 }.joined()
    }

    private func grouped(_ number: Int) -> String {
        var digits = String(number.magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits = String(digits.dropLast(3))
        }
        return (number < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }
}

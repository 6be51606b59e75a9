import APITypes
import ActivityModel

/// Drawings as SVG, made of shapes with attributes only: the security policy forbids inline styles.
enum Drawing {
    static let mark: HTML = """
        <svg class="mark" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">\
        <path d="M5 5v14M10 5v14M15 5v14M20 5v14" class="strokes"/><path d="M2 17 22 7" class="slash"/></svg>
        """

    /// How far the newest revision has come: one bar in the colours of ``legend(_:)``.
    static func progress(_ progress: DeliveryProgress, label: String, compact: Bool = false) -> HTML {
        let parts = segments(progress)
        let total = parts.reduce(0) { $0 + $1.count }
        guard total > 0 else { return "<span class=\"none\">nobody</span>" }
        var x = 0.0
        let bars = parts.filter { $0.count > 0 }.html { part in
            // A bar under 1 % would not be seen.
            let width = max(1, Double(part.count) / Double(total) * 100)
            defer { x += width }
            return "<rect class=\"\(part.name)\" x=\"\(number(x))\" y=\"0\" width=\"\(number(width))\" height=\"8\"/>"
        }
        let words = parts.filter { $0.count > 0 }.map { "\($0.count) \($0.title)" }.joined(separator: ", ")
        return """
            <svg class="bar\(compact ? " compact" : "")" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="\(label): \(words)">\
            <title>\(words)</title>\(bars)</svg>
            """
    }

    static func legend(_ progress: DeliveryProgress) -> HTML {
        let items = segments(progress).html { part in
            """
            <div><dt><svg width="10" height="10" aria-hidden="true"><rect class="\(part.name)" width="10" height="10" rx="2"/></svg> \
            \(part.title)</dt><dd>\(Parts.count(part.count))</dd></div>
            """
        }
        return "<dl class=\"legend\">\(items)</dl>"
    }

    private struct Segment {
        let name: String
        let title: String
        let count: Int
    }

    private static func segments(_ progress: DeliveryProgress) -> [Segment] {
        [
            Segment(name: "current", title: "current", count: progress.current),
            Segment(name: "pending", title: "pending", count: progress.pending),
            Segment(name: "waiting", title: "waiting for token", count: progress.waitingForToken),
            Segment(name: "begin", title: "waiting to begin", count: progress.waitingToBegin),
            Segment(name: "withheld", title: "withheld", count: progress.withheld),
            Segment(name: "dead", title: "dead", count: progress.dead),
        ]
    }

    /// The times of changes as ticks on a line.
    static func spark(_ times: [Instant], label: String) -> HTML {
        guard let first = times.min(), let last = times.max() else { return "<span class=\"none\">–</span>" }
        let span = max(1, Double(last.unixSeconds - first.unixSeconds))
        let bins = 24
        var counts = [Int](repeating: 0, count: bins)
        for time in times {
            counts[min(bins - 1, Int(Double(time.unixSeconds - first.unixSeconds) / span * Double(bins)))] += 1
        }
        let most = Double(counts.max() ?? 1)
        let bars = counts.indices.filter { counts[$0] > 0 }.html { bin in
            let height = max(2, Double(counts[bin]) / most * 16)
            return "<rect x=\"\(bin * 4)\" y=\"\(number(18 - height))\" width=\"3\" height=\"\(number(height))\"/>"
        }
        return """
            <svg class="spark" viewBox="0 0 96 18" width="96" height="18" role="img" aria-label="\(label): \(times.count) in \
            \(Parts.duration(Int64(span)))">\(bars)</svg>
            """
    }

    /// How much of a quota is used.
    static func gauge(_ used: Int, of quota: Int, label: String) -> HTML {
        let share = min(1, Double(used) / Double(max(1, quota)))
        let tone = share >= 1 ? "dead" : share >= 0.8 ? "withheld" : "current"
        return """
            <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="\(label): \(used) of \(quota)">\
            <rect class="\(tone)" width="\(number(used > 0 ? max(1, share * 100) : 0))" height="8"/></svg>
            """
    }

    /// A number with one decimal.
    static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths.isMultiple(of: 10) ? String(tenths / 10) : "\(tenths / 10).\(abs(tenths % 10))"
    }
}

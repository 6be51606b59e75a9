import APITypes
import ActivityModel

/// The timeline as a drawing: what was accepted, what was sent, and what went wrong, over time.
struct TimelineDrawing {
    private enum Lane: Int, CaseIterable {
        case changes, pushes, trouble

        var title: String {
            switch self {
            case .changes: "Changes"
            case .pushes: "Pushes"
            case .trouble: "Trouble"
            }
        }
    }

    private static let width = 960.0
    private static let left = 76.0
    private static let laneHeight = 34.0

    let entries: [TimelineEntry]

    var html: HTML {
        guard let first = entries.map(\.at).min(), let last = entries.map(\.at).max() else { return "" }
        let span = max(1_000_000, Double(last.microseconds - first.microseconds))
        let height = Self.laneHeight * Double(Lane.allCases.count) + 24
        func place(_ time: Instant) -> Double {
            Self.left + 10 + Double(time.microseconds - first.microseconds) / span * (Self.width - Self.left - 20)
        }
        let lanes = Lane.allCases.html { lane in
            let y = Double(lane.rawValue) * Self.laneHeight + Self.laneHeight / 2
            return """
                <text x="0" y="\(Drawing.number(y + 4))">\(lane.title)</text>\
                <line x1="\(Drawing.number(Self.left))" x2="\(Drawing.number(Self.width))" y1="\(Drawing.number(y))" y2="\(Drawing.number(y))"/>
                """
        }
        let marks = entries.reversed().html { entry in mark(entry, x: place(entry.at)) }
        let ends: HTML = """
            <text class="time" x="\(Drawing.number(Self.left))" y="\(Drawing.number(height - 6))">\(Self.clock(first))</text>\
            <text class="time end" x="\(Drawing.number(Self.width))" y="\(Drawing.number(height - 6))">\(Self.clock(last))</text>
            """
        return """
            <div class="wide" tabindex="0" role="region" aria-label="Timeline">
            <svg class="timeline" viewBox="0 0 960 \(Drawing.number(height))" role="img" \
            aria-label="\(entries.count) entries of the timeline; the table below lists them">\(lanes)\(marks)\(ends)</svg></div>
            """
    }

    private func mark(_ entry: TimelineEntry, x: Double) -> HTML {
        let lane = lane(of: entry)
        let y = Double(lane.rawValue) * Self.laneHeight + Self.laneHeight / 2
        let title: HTML = "<title>\(Self.clock(entry.at)) \(entry.text)</title>"
        switch lane {
        case .changes:
            let radius = entry.hasAlert == true ? 7.0 : 4.5
            return
                "<circle class=\"change\" cx=\"\(Drawing.number(x))\" cy=\"\(Drawing.number(y))\" r=\"\(Drawing.number(radius))\">\(title)</circle>"
        case .pushes:
            let count = entry.counts.map { $0.values.reduce(0, +) } ?? 1
            let height = min(26, 6 + Double(String(count).count) * 5)
            return """
                <rect class="push" x="\(Drawing.number(x - 1.5))" y="\(Drawing.number(y - height / 2))" width="3" height="\(Drawing.number(height))">\(title)</rect>
                """
        case .trouble:
            return """
                <path class="trouble" d="M\(Drawing.number(x)) \(Drawing.number(y - 6))l6 11h-12z">\(title)</path>
                """
        }
    }

    private func lane(of entry: TimelineEntry) -> Lane {
        switch entry.kind {
        case "accepted", "priority", "registered": .changes
        case "push", "batch": entry.status.map { $0 != 200 } ?? false ? .trouble : .pushes
        default: .trouble
        }
    }

    /// The time of day, UTC.
    static func clock(_ time: Instant) -> String {
        String(time.description.dropFirst(11).prefix(8))
    }
}

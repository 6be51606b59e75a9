import APITypes
import ActivityModel
import JSON

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

    private struct Mark {
        let at: Instant
        let lane: Lane
        let title: String
        /// How many pushes; for a change, whether it had an alert.
        var pushes = 1
        var isLoud = false
    }

    private let marks: [Mark]

    /// Whether there are older entries, which are not drawn.
    private let isCut: Bool

    /// The newest entries of a timeline, which name each push.
    init(_ page: Page<TimelineEntry>) {
        isCut = page.nextCursor != nil
        marks = page.items.map { entry in
            let lane: Lane =
                switch entry.kind {
                case "accepted", "priority", "registered": .changes
                case "push", "batch": entry.status.map { $0 != 200 } ?? false ? .trouble : .pushes
                default: .trouble
                }
            let pushes = entry.counts.map { $0.values.reduce(0, +) } ?? 1
            return Mark(at: entry.at, lane: lane, title: entry.text, pushes: pushes, isLoud: entry.hasAlert == true)
        }
    }

    /// The newest events of an activity, which count pushes, so they reach further back than a page of the timeline.
    /// - Parameters:
    ///   - events: newest first.
    ///   - limit: how many were asked for.
    init(events: [EventResource], limit: Int) {
        isCut = events.count >= limit
        marks = events.map { event in
            let facts = event.detail
            let revision = facts["revision"].map { " revision \($0.text)" } ?? ""
            switch event.kind {
            case "change_accepted":
                let title = (facts["event"]?.string ?? "change") + revision
                return Mark(at: event.at, lane: .changes, title: title, isLoud: facts["alert"]?.bool == true)
            case "pushes_answered":
                let pushes = facts["pushes"]?.int64 ?? 1
                let isFine = facts["answers"]?.object?.keys.allSatisfy { $0 == "200" } ?? true
                let title = "\(pushes) pushes," + revision
                return Mark(at: event.at, lane: isFine ? .pushes : .trouble, title: title, pushes: Int(pushes))
            case "changes_merged", "provider_resumed":
                return Mark(at: event.at, lane: .changes, title: event.kind.replacing("_", with: " "))
            default:
                return Mark(at: event.at, lane: .trouble, title: event.kind.replacing("_", with: " ") + revision)
            }
        }
    }

    var html: HTML {
        guard let first = marks.map(\.at).min(), let last = marks.map(\.at).max() else { return "" }
        let span = max(1_000_000, Double(last.microseconds - first.microseconds))
        let height = Self.laneHeight * Double(Lane.allCases.count) + 24
        func place(_ time: Instant) -> Double {
            Self.left + 10 + Double(time.microseconds - first.microseconds) / span * (Self.width - Self.left - 20)
        }
        let lanes = Lane.allCases.html { lane in
            let y = middle(of: lane)
            return """
                <text x="0" y="\(Drawing.number(y + 4))">\(lane.title)</text>\
                <line x1="\(Drawing.number(Self.left))" x2="\(Drawing.number(Self.width))" y1="\(Drawing.number(y))" y2="\(Drawing.number(y))"/>
                """
        }
        let drawn = marks.html { draw($0, x: place($0.at)) }
        let ends: HTML = """
            <text class="time" x="\(Drawing.number(Self.left))" y="\(Drawing.number(height - 6))">\(Self.clock(first))</text>\
            <text class="time end" x="\(Drawing.number(Self.width))" y="\(Drawing.number(height - 6))">\(Self.clock(last))</text>
            """
        return """
            <div class="wide" tabindex="0" role="region" aria-label="Timeline">
            <svg class="timeline" viewBox="0 0 960 \(Drawing.number(height))" role="img" \
            aria-label="\(marks.count) moments of the timeline; the table below lists the newest">\(lanes)\(drawn)\(ends)</svg></div>
            \(isCut ? "<p class=\"hint\">The newest \(marks.count) moments are drawn.</p>" as HTML : "")
            """
    }

    private func middle(of lane: Lane) -> Double { Double(lane.rawValue) * Self.laneHeight + Self.laneHeight / 2 }

    private func draw(_ mark: Mark, x: Double) -> HTML {
        let y = middle(of: mark.lane)
        let title: HTML = "<title>\(Self.clock(mark.at)) \(mark.title)</title>"
        switch mark.lane {
        case .changes:
            let radius = mark.isLoud ? "7" : "4.5"
            return """
                <circle class="change" cx="\(Drawing.number(x))" cy="\(Drawing.number(y))" r="\(radius)">\(title)</circle>
                """
        case .pushes:
            let height = min(26, 6 + Double(String(mark.pushes).count) * 5)
            return """
                <rect class="push" x="\(Drawing.number(x - 1.5))" y="\(Drawing.number(y - height / 2))" width="3" \
                height="\(Drawing.number(height))">\(title)</rect>
                """
        case .trouble:
            return """
                <path class="trouble" d="M\(Drawing.number(x)) \(Drawing.number(y - 6))l6 11h-12z">\(title)</path>
                """
        }
    }

    /// The time of day, UTC.
    static func clock(_ time: Instant) -> String {
        String(time.description.dropFirst(11).prefix(8))
    }
}

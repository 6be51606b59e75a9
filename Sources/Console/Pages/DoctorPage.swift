import APITypes
import ActivityModel
import JSON
import ReportTypes

/// The checks of everything that sending depends on, the worst first.
enum DoctorPage {
    static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        // The installation's own checks work without an app.
        let choice = try? await visit.choice()
        let report = try DoctorReport(json: try await visit.send("POST", "/v1/doctor", [:]))
        let checks = report.checks.enumerated().sorted {
            ($0.element.verdict, -$0.offset) > ($1.element.verdict, -$1.offset)
        }.map(\.element)
        // The page Now shows what needs somebody, and no more.
        let isBrief = visit.query["brief"] != nil
        let rows = checks.filter { !isBrief || $0.verdict != .ok }.map { check -> HTML in
            """
            <tr><td>\(Parts.badge(check.verdict.rawValue, tone(check.verdict)))</td><td>\(check.check.replacing("_", with: " "))</td>\
            <td>\(check.subject ?? "")</td><td class="text">\(check.finding)\(check.advice.map { "<br><strong>\($0)</strong>" as HTML })\(halt(check))</td></tr>
            """
        }
        return Layout(visit: visit, title: "Doctor", place: .doctor, choice: choice).page(
            """
            <h1>Doctor</h1>
            <div id="findings">\(Parts.note(tone(report.verdict), "\(summary(report)) Checked \(Parts.when(report.checkedAt, now: visit.now)).")) \
            \(isBrief && rows.isEmpty ? "" : Parts.table("Findings", ["Verdict", "Check", "About", "Finding, and what to do"], rows, empty: "No check ran.", stacks: true))</div>
            """
        )
    }

    /// The way to what the advice does by command: the page with the buttons that resume sending.
    private static func halt(_ check: DoctorCheck) -> HTML {
        // The subject is an app, with the environment in parentheses behind it.
        guard check.check == "sending", check.verdict != .ok, let app = check.subject?.split(separator: " ").first
        else {
            return ""
        }
        return " <a href=\"\(Address("/console/halts", ["app": String(app)]))\">To the halt</a>"
    }

    private static func summary(_ report: DoctorReport) -> HTML {
        let broken = report.checks.filter { $0.verdict == .broken }.count
        let warnings = report.checks.filter { $0.verdict == .warning }.count
        if broken + warnings == 0 { return "<strong>All \(report.checks.count) checks are fine.</strong>" }
        return "<strong>\(broken) broken, \(warnings) to look at</strong>, of \(report.checks.count) checks."
    }

    private static func tone(_ verdict: DoctorVerdict) -> Parts.Tone {
        switch verdict {
        case .ok: .good
        case .warning: .warn
        case .broken: .bad
        }
    }
}

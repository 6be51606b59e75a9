import APITypes
import ReportTypes

/// The doctor's report for people: a line for each good result, a paragraph for each bad one, and a summary.
struct DoctorText {
    let report: DoctorReport
    let style: Style
    var width = Terminal.easyWidth

    private static let indent = "         "

    var text: String {
        let lines = report.checks.flatMap(lines)
        return (lines + ["", style.text(verdict, Self.meaning(of: report.verdict))]).joined(separator: "\n")
    }

    private func lines(of check: DoctorCheck) -> [String] {
        let subject = check.subject.map { " \($0)" } ?? ""
        let head = Self.word(for: check.verdict)
        let words = "\(check.check)\(subject): \(check.finding)"
        var lines = WrappedText.lines(of: words, width: width - Self.indent.count)
        if let advice = check.advice {
            lines += WrappedText.lines(of: "→ " + advice, width: width - Self.indent.count)
        }
        return lines.enumerated().map { index, line in
            index > 0
                ? Self.indent + line
                : style.text(head, Self.meaning(of: check.verdict))
                    + String(repeating: " ", count: Self.indent.count - head.count) + line
        }
    }

    private var verdict: String {
        let broken = report.checks.count { $0.verdict == .broken }
        let warnings = report.checks.count { $0.verdict == .warning }
        switch report.verdict {
        case .ok: return "All is well."
        case .warning: return "It works, with \(Self.counted(warnings, "warning"))."
        case .broken:
            let more = warnings > 0 ? ", and \(Self.counted(warnings, "warning"))" : ""
            return "\(Self.counted(broken, "check")) found something broken\(more)."
        }
    }

    private static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    private static func word(for verdict: DoctorVerdict) -> String {
        switch verdict {
        case .ok: "ok"
        case .warning: "warning"
        case .broken: "BROKEN"
        }
    }

    private static func meaning(of verdict: DoctorVerdict) -> Style.Meaning {
        switch verdict {
        case .ok: .good
        case .warning: .doubtful
        case .broken: .bad
        }
    }
}

extension DoctorReport: Presentable {
    var text: String { DoctorText(report: self, style: .standard, width: Terminal.textWidth).text }
}

import APITypes
import ReportTypes
import Testing

@testable import tally

@Suite("The doctor's report for people")
struct DoctorTextTests {
    private static func text(_ checks: [DoctorCheck], coloured: Bool = false) -> String {
        let report = DoctorReport(checkedAt: Instant(unixSeconds: 0), checks: checks)
        return DoctorText(report: report, style: Style(isColoured: coloured)).text
    }

    @Test("one line for what is well, then what is not with what to do, then the verdict; 80 columns")
    func report() {
        let text = Self.text([
            DoctorCheck("clock", .ok, "database and daemon agree"),
            DoctorCheck(
                "apns",
                of: "production channels, https://api-manage-broadcast.push.apple.com:2196",
                .broken,
                "No connection: HTTP/2 timedOut: no connection in time",
                advice: "Let the firewall pass outgoing TCP to port 2196."
            ),
            DoctorCheck("channels", of: "com.example (production)", .warning, "9400 of 10000.", advice: "End some."),
        ])
        #expect(
            text == """
                ok       clock: database and daemon agree
                BROKEN   apns production channels,
                         https://api-manage-broadcast.push.apple.com:2196: No connection: HTTP/2
                         timedOut: no connection in time
                         → Let the firewall pass outgoing TCP to port 2196.
                warning  channels com.example (production): 9400 of 10000.
                         → End some.

                1 check found something broken, and 1 warning.
                """
        )
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test("a narrow terminal gets narrow lines")
    func narrow() {
        let check = DoctorCheck("clock", .warning, "The clocks differ by more than two seconds.", advice: "Use NTP.")
        let report = DoctorReport(checkedAt: Instant(unixSeconds: 0), checks: [check])
        let text = DoctorText(report: report, style: Style(isColoured: false), width: 40).text
        #expect(text.hasPrefix("warning  clock: The clocks differ by\n         more than two seconds.\n"))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 40 })
    }

    @Test("the verdict is a sentence")
    func verdicts() {
        let fine = DoctorCheck("clock", .ok, "fine")
        let doubtful = DoctorCheck("clock", .warning, "off", advice: "x")
        #expect(Self.text([fine]).hasSuffix("\n\nAll is well."))
        #expect(Self.text([fine, doubtful, doubtful]).hasSuffix("\n\nIt works, with 2 warnings."))
    }

    @Test("colours say how bad it is, where colours are wanted")
    func colours() {
        let check = DoctorCheck("clock", .broken, "off", advice: "x")
        #expect(Self.text([check], coloured: true).hasPrefix("\u{1B}[31mBROKEN\u{1B}[0m   clock"))
        #expect(!Self.text([check]).contains("\u{1B}"))
    }
}

import APITypes
import ActivityModel
import ArgumentParser
import JSON
import TallyClient
import Testing

@testable import MatchReplay
@testable import tally

@Suite("Errors")
struct ErrorReportTests {
    @Test("a problem is shown with code, detail and every place")
    func problem() throws {
        let errors = [
            FieldError(
                pointer: JSONPointer(tokens: ["homeScore"]),
                code: "type",
                message: "No integer.",
                schemaVersion: 2
            ),
            FieldError(pointer: JSONPointer(), code: "missing", message: "Something is."),
        ]
        let problem = Problem.invalidContentState(errors)
        let report = try #require(ErrorReport(ClientError(code: .refused, problem: problem, detail: "x")))
        #expect(
            report.text == """
                tally: invalid_content_state: The content state does not match the schema of its type.
                  /homeScore: type: No integer. (schema version 2)
                  (the whole): missing: Something is.
                """
        )
        #expect(report.exitCode == .failure)
        #expect(report.json == problem.json)
    }

    @Test("what can be mended is said with the way to mend it")
    func advice() throws {
        let unauthorized = try #require(
            ErrorReport(ClientError(code: .refused, problem: .unauthorized(), detail: "x"))
        )
        #expect(unauthorized.text.contains("TALLY_API_KEY"))
        #expect(unauthorized.text.contains("`tally keys list` (with an admin key) shows which work."))
        let away = try #require(ErrorReport(ClientError(code: .unreachable, detail: "http://h cannot be reached")))
        #expect(
            away.text == """
                tally: no_connection: http://h cannot be reached
                  → Is tallyd running there? The address comes from --url, TALLY_URL or the profile.
                """
        )
        let slow = try #require(ErrorReport(ClientError(code: .timedOut, detail: "http://h did not answer in time")))
        #expect(slow.text.contains("`tally doctor` says what it waits for"))
    }

    @Test("a missing scope is named")
    func missingScope() throws {
        let error = ClientError(code: .refused, problem: .missingScope(.publish), detail: "x")
        let text = try #require(ErrorReport(error)).text
        #expect(text.contains("'publish'"))
        #expect(text.contains("(with an admin key): tally keys create NAME --scope publish"))
    }

    @Test("a replay names the activity that is refused, and says what to do if its id is used up")
    func refusedPost() throws {
        let id = ActivityID(stored: "final")
        let report = try #require(
            ErrorReport(RefusedPost(activityID: id, problem: .activityEnded(), isUnknown: false))
        )
        #expect(
            report.text == """
                tally: activity_ended: final: The activity has ended.
                  → Its id is used up: give --suffix, such as --suffix -2.
                """
        )
        #expect(report.json["code"] == "activity_ended" && report.json["detail"] == "final: The activity has ended.")
        #expect(report.exitCode == .failure)
        for problem in [Problem.activityExists(), .attributesConflict()] {
            let used = RefusedPost(activityID: id, problem: problem, isUnknown: false)
            #expect(try #require(ErrorReport(used)).advice?.contains("--suffix") == true)
        }
        let unknown = RefusedPost(activityID: id, problem: .outcomeUnknown(), isUnknown: true)
        #expect(try #require(ErrorReport(unknown)).exitCode == ErrorReport.noAnswer)
        #expect(try #require(ErrorReport(unknown)).advice?.contains("--suffix") == false)
    }

    @Test(
        "exit codes tell refusal, connection and usage apart",
        arguments: [
            (ClientError(code: .refused, problem: .lateEvent(newest: Instant(unixSeconds: 0)), detail: "x"), 1),
            (ClientError.refused(.unavailable()), 1),
            (ClientError.refused(.outcomeUnknown()), 3),
            (ClientError(code: .badAnswer, detail: "x"), 1),
            (ClientError(code: .unreachable, detail: "x"), 3),
            (ClientError(code: .timedOut, detail: "x"), 3),
            (ClientError(code: .invalidAddress, detail: "x"), 64),
            (ClientError(code: .invalidArgument, detail: "x"), 64),
            (UsageError("x"), 64),
            (ReplayError("x"), 1),
            (Problem.invalidRequest([]), 64),
        ] as [(any Error, Int32)]
    )
    func exitCodes(error: any Error, code: Int32) throws {
        #expect(try #require(ErrorReport(error)).exitCode.rawValue == code)
    }

    @Test("what ArgumentParser reports is left to it")
    func others() {
        #expect(ErrorReport(ValidationError("x")) == nil)
        #expect(ErrorReport(ExitCode.failure) == nil)
    }
}

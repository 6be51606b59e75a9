import APITypes
import ArgumentParser
import JSON
import MatchReplay
import SwiftContent
import SwiftImporter
import TallyClient

/// The message and the exit code of a failure.
struct ErrorReport: Equatable {
    var code: String
    var detail: String
    var errors: [FieldError] = []
    /// What to do about it, if known.
    var advice: String?
    var json: JSONValue
    var exitCode: ExitCode

    /// The server cannot be reached, or the outcome of the request is unknown.
    static let noAnswer = ExitCode(3)

    /// Nil for errors that ArgumentParser reports itself.
    init?(_ error: any Error) {
        switch error {
        case let error as ClientError:
            if let problem = error.problem {
                self.init(problem)
            } else {
                self.init(error)
            }
            if error.isUnknown { exitCode = Self.noAnswer }
        case let error as RefusedPost:
            self.init(error.named)
            if error.isUnknown { exitCode = Self.noAnswer }
            if error.isIDUsedUp { advice = "Its id is used up: give --suffix, such as --suffix -2." }
        case let error as UsageError:
            self.init(code: "usage", detail: error.message, exitCode: .validationFailure)
        case let error as SwiftImportError:
            let lines = error.problems.map { "\n  " + $0.line }.joined()
            self.init(code: "swift_source", detail: "no schemas can be made of this:" + lines, exitCode: .failure)
        case let error as SwiftImporterError:
            let remedy =
                error.code == .exhausted
                ? "give only the files that declare the type" : "tally-import belongs into the folder of tally"
            self.init(code: "swift_importer", detail: "\(error); \(remedy)", exitCode: .failure)
        case let error as EditError:
            self.init(code: "edit", detail: error.message, exitCode: .failure)
        case let error as ReplayError:
            self.init(code: "replay", detail: error.message, exitCode: .failure)
        case let problem as Problem:
            // The command line asked for a request that breaks the API's rules.
            self.init(problem)
            exitCode = .validationFailure
        default:
            return nil
        }
    }

    private init(_ problem: Problem) {
        self.init(code: problem.code, detail: problem.detail, exitCode: .failure)
        errors = problem.errors
        advice = Self.advice(for: problem)
        json = problem.json
    }

    private init(_ error: ClientError) {
        let isConnection = error.code == .unreachable || error.code == .timedOut
        let exitCode: ExitCode =
            switch error.code {
            case .invalidArgument, .invalidAddress, .invalidCAFile: .validationFailure
            case _ where isConnection: Self.noAnswer
            default: .failure
            }
        let code = isConnection ? "no_connection" : error.code.description
        self.init(code: code, detail: error.detail, exitCode: exitCode)
        if error.code == .timedOut {
            advice =
                "If tallyd runs there, `tally doctor` says what it waits for. The address comes from --url, TALLY_URL or "
                + "the profile."
        } else if isConnection || error.code == .badAnswer {
            advice = "Is tallyd running there? The address comes from --url, TALLY_URL or the profile."
        } else if error.code == .untrusted {
            advice = "If its certificate is signed by an authority of your own, name that with --ca-file."
        }
    }

    private static func advice(for problem: Problem) -> String? {
        switch problem.code {
        case Problem.Code.unauthorized:
            "The key comes from --key, TALLY_API_KEY or the profile. "
                + "`tally keys list` (with an admin key) shows which work."
        case Problem.Code.missingScope:
            (problem.extra["scope"]?.string).map {
                "Make a key that has it (with an admin key): tally keys create NAME --scope \($0)"
            }
        case Problem.Code.outcomeUnknown:
            "Look at what there is before you ask again; `tally doctor` says what is wrong if it stays."
        case Problem.Code.unavailable: "Ask again in a moment; `tally doctor` says what is wrong if it stays."
        case Problem.Code.internalError: "The daemon's log says more, under the request id of the answer."
        default: nil
        }
    }

    private init(code: String, detail: String, exitCode: ExitCode) {
        self.code = code
        self.detail = detail
        self.exitCode = exitCode
        var fields = ObjectWriter()
        fields.add("code", code)
        fields.add("detail", detail)
        json = fields.json
    }

    /// One line for the problem, and one for each error in the input.
    var text: String {
        var lines = ["tally: \(code): \(detail)"]
        for error in errors {
            let place = error.pointer.tokens.isEmpty ? "(the whole)" : error.pointer.description
            let version = error.schemaVersion.map { " (schema version \($0))" } ?? ""
            lines.append("  \(place): \(error.code): \(error.message)\(version)")
        }
        if let advice { lines.append("  → " + advice) }
        return lines.joined(separator: "\n")
    }
}

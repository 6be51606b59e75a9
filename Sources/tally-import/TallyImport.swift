import Foundation
import JSON
import SwiftContent
import SwiftSchemaImport

/// Makes schemas from Swift sources for `tallyd` and `tally`. Reads one request from standard input and writes the
/// answer.
///
/// It is a separate program, so that a source that crashes the parser ends nothing else.
@main
enum TallyImport {
    static func main() {
        Limits.set()
        // An unreadable input counts as empty, and is reported below.
        let input = (try? FileHandle.standardInput.readToEnd()) ?? Data()
        guard let json = try? JSONValue.parse(Array(input)), let request = ImportRequest(json: json) else {
            try? FileHandle.standardError.write(
                contentsOf: Data("tally-import reads a request of tally's or tallyd's from its input\n".utf8)
            )
            exit(EX_USAGE)
        }
        let answer: ImportAnswer
        do {
            answer = .made(try ImportedSchemas(request))
        } catch {
            answer = .refused(error)
        }
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(answer.json.serialized()))
        } catch {
            exit(EX_IOERR)
        }
    }
}

import Foundation
import JSON
import SwiftContent
import SwiftSchemaImport

/// Makes schemas from Swift sources for `tallyd` and `tally`: reads one request from its input and writes the answer.
///
/// A program of its own, so that a source which is too much for the parser ends nothing else.
@main
enum TallyImport {
    static func main() {
        Limits.set()
        // An input that cannot be read is as good as none.
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

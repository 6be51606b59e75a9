import Foundation
import JSON
import JSONSchema

/// Parses and validates one document over and over: `tools/bench schema` starts it beside other validators.
///
///     bench-schema SCHEMA VALID INVALID SECONDS      for about that many seconds of CPU
///     bench-schema SCHEMA VALID INVALID --count N    exactly so many times, to have its allocations counted
@main
enum BenchSchema {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let files = try arguments.prefix(3).map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0))) }
        guard files.count == 3, let last = arguments.last, let number = Double(last) else { throw Mistake.usage }
        let schema = try CompiledSchema(JSONValue.parse(files[0]))
        guard try isValid(files[1], schema), try !isValid(files[2], schema) else { throw Mistake.verdict }

        var measured = 0
        if arguments.contains("--count") {
            for _ in 0..<Int(number) where try isValid(files[1], schema) { measured += 1 }
            print("{\"documents\": \(measured)}")
            return
        }
        let batch = 1_000
        // Once before it counts, so that nothing is measured that happens once.
        for _ in 0..<batch where try !isValid(files[1], schema) { throw Mistake.verdict }
        let began = clock()
        var ended = began
        while Double(ended - began) < number * Double(CLOCKS_PER_SEC) {
            for _ in 0..<batch where try isValid(files[1], schema) { measured += 1 }
            ended = clock()
        }
        let seconds = Double(ended - began) / Double(CLOCKS_PER_SEC)
        print("{\"documents\": \(measured), \"cpu_seconds\": \(seconds)}")
    }

    private static func isValid(_ bytes: [UInt8], _ schema: CompiledSchema) throws -> Bool {
        schema.isValid(try JSONValue.parse(bytes))
    }

    private enum Mistake: Error {
        case usage, verdict
    }
}

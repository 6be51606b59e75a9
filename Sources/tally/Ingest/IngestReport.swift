import APITypes
import JSON

/// Counts what became of the lines of a stream. Pure.
struct IngestReport: Presentable, Equatable {
    private(set) var accepted = 0
    private(set) var refused = 0

    var lines: Int { accepted + refused }

    /// Counts the result of the next line.
    ///
    /// - Returns: What to say of a refused line; nil for an accepted one.
    mutating func add(_ result: BatchResult) -> String? {
        guard result.status >= 400 else {
            accepted += 1
            return nil
        }
        refused += 1
        guard let problem = try? Problem(json: result.body) else { return "line \(lines): \(result.status)" }
        let places = problem.errors.map { "'\($0.pointer)': \($0.message)" }
        return (["line \(lines): \(problem.status) \(problem.code): \(problem.detail)"] + places)
            .joined(separator: "\n  ")
    }

    /// The result with the number of its line in the file. Tally counts anew in each of its streams.
    func numbered(_ result: BatchResult) -> BatchResult {
        guard result.status >= 400, case .object(var problem) = result.body else { return result }
        problem["line"] = .number(JSONNumber(lines))
        return BatchResult(status: result.status, body: .object(problem))
    }

    var text: String { "\(accepted) accepted, \(refused) refused" }

    var json: JSONValue {
        ["accepted": .number(JSONNumber(accepted)), "refused": .number(JSONNumber(refused))]
    }

    /// The line with an idempotency key, so that it can be sent again when a connection breaks. A line that has one
    /// keeps it, and one that is no object stays as it is.
    static func keyed(_ line: [UInt8], _ key: String) -> [UInt8] {
        guard case .object(var operation) = try? JSONValue.parse(line), operation["idempotency_key"] == nil
        else { return line }
        operation["idempotency_key"] = .string(key)
        return JSONValue.object(operation).serialized()
    }
}

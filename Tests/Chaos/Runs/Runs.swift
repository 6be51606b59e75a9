import Glibc
import SystemSupport

/// Many runs, some at a time.
struct Runs: Sendable {
    let runs: [Run]
    /// How many at a time.
    let width: Int

    /// What became of runs that are over: nil if one could not be played to its end.
    typealias Results = [(run: Run, outcome: Outcome?)]

    /// Plays all and tells of each as it ends.
    ///
    /// - Parameter note: is given what there is, whenever a run has ended.
    /// - Returns: what went wrong, one text each.
    /// - Throws: what `note` throws.
    func play(_ note: (Results) throws -> Void) async throws -> [String] {
        var results: Results = []
        var broken: [String] = []
        try await withThrowingTaskGroup(of: (Int, Result<Outcome, any Error>).self) { group in
            var waiting = runs.enumerated().makeIterator()
            func begin() {
                guard let (number, run) = waiting.next() else { return }
                group.addTask {
                    do {
                        return (number, .success(try await run.play()))
                    } catch {
                        return (number, .failure(error))
                    }
                }
            }
            for _ in 1...width { begin() }
            for try await (number, result) in group where !LastDuties.isOver {
                switch result {
                case .success(let outcome):
                    results.append((runs[number], outcome))
                    broken += outcome.verdict.broken.map { "\(runs[number].description): \($0)" }
                    Self.tell(of: runs[number], outcome)
                case .failure(let error):
                    results.append((runs[number], nil))
                    broken.append("\(runs[number].description): \(error)")
                    say("\(runs[number].description): failed\n\(error)")
                }
                try note(results)
                begin()
            }
        }
        return broken
    }

    private static func tell(of run: Run, _ outcome: Outcome) {
        let verdict = outcome.verdict
        let words = [
            "\(outcome.accepted) changes accepted", "\(verdict.right) of \(verdict.phones) phones right",
            "\(verdict.repeatedStarts) starts repeated", "\(verdict.lostStarts) lost twice",
            "\(verdict.repeatedPushes) pushes repeated", "recovered after \(outcome.recovery.inSeconds) s",
        ]
        say("\(run.description): \(words.joined(separator: ", "))")
        for sentence in verdict.broken { say(sentence) }
    }
}

extension Duration {
    /// With one decimal.
    var inSeconds: String {
        let tenths = Int((self / .milliseconds(100)).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

/// Prints a line at once, also where the output is a file.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

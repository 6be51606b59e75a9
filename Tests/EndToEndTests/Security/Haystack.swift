import Foundation
import Synchronization
import SystemSupport
import Testing

/// Everything that Tally has printed and answered, and what must not be in it.
final class Haystack: Sendable {
    private struct State {
        var needles: [(what: String, text: String, allowed: String?)] = []
        var hay: [(place: String, text: String)] = []
    }

    private let state = Mutex(State())

    /// Plants a secret, which may be told in places whose names begin as `allowed` says. One that is short could be
    /// found by chance.
    func plant(
        _ what: String,
        _ text: String,
        allowed: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(text.utf8.count >= 8, "\(what)", sourceLocation: sourceLocation)
        state.withLock { $0.needles.append((what, text, allowed)) }
    }

    /// Keeps what was said somewhere.
    func add(_ place: String, _ text: String) {
        state.withLock { $0.hay.append((place, text)) }
    }

    func add(_ place: String, _ answer: HTTPCaller.Answer) {
        let headers = answer.headers.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
        add(place, headers + "\n" + String(decoding: answer.body, as: UTF8.self))
    }

    func add(_ place: String, _ run: (ending: RunningProgram.Ending, output: String, errors: String)) {
        add(place, run.output + "\n" + run.errors)
    }

    /// How many bytes were said in places whose names begin so.
    func size(_ beginning: String) -> Int {
        state.withLock { $0.hay.filter { $0.place.hasPrefix(beginning) }.reduce(0) { $0 + $1.text.utf8.count } }
    }

    /// Which secret was found where, with what stands around it.
    var found: [String] {
        let (needles, hay) = state.withLock { ($0.needles, $0.hay) }
        return hay.flatMap { place, text in
            needles.compactMap { what, needle, allowed in
                if let allowed, place.hasPrefix(allowed) { return nil }
                guard let range = text.range(of: needle, options: .caseInsensitive) else { return nil }
                let start = text.index(range.lowerBound, offsetBy: -120, limitedBy: text.startIndex) ?? text.startIndex
                return "\(what) in \(place): …\(text[start..<range.upperBound])…"
            }
        }
    }
}

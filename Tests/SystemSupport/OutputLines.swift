import Dispatch
package import Foundation
import Synchronization

/// The lines that a program prints, as they come.
package final class OutputLines: Sendable {
    private struct Wish {
        let beginning: String
        let resumption: Resumption<String>
    }

    private struct State {
        var lines: [String] = []
        var isClosed = false
        var wishes: [Wish] = []
    }

    private let state = Mutex(State())
    /// Kept when everything has been read.
    package let end = Promise<Void>()

    package var all: [String] { state.withLock { $0.lines } }

    /// Reads to the end of the output, blocking.
    package func read(_ handle: FileHandle) {
        var rest: [UInt8] = []
        while true {
            let data = handle.availableData
            guard !data.isEmpty else { break }
            rest += data
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                add(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeFirst(end + 1)
            }
        }
        if !rest.isEmpty { add(String(decoding: rest, as: UTF8.self)) }
        let wishes = state.withLock { state in
            state.isClosed = true
            defer { state.wishes.removeAll() }
            return state.wishes
        }
        for wish in wishes { wish.resumption.once(returning: nil) }
        end.fulfil(())
    }

    /// The first line that begins so; nil if the output ends without it or the time is over.
    package func line(beginningWith beginning: String, within limit: Duration) async -> String? {
        await withCheckedContinuation { continuation in
            let resumption = Resumption<String>(continuation)
            let (line, isOver) = state.withLock { state -> (String?, Bool) in
                let line = state.lines.first { $0.hasPrefix(beginning) }
                if line == nil, !state.isClosed {
                    state.wishes.append(Wish(beginning: beginning, resumption: resumption))
                }
                return (line, state.isClosed)
            }
            if line != nil || isOver {
                resumption.once(returning: line)
            } else {
                DispatchQueue.global().asyncAfter(deadline: .now() + limit / .seconds(1)) {
                    resumption.once(returning: nil)
                }
            }
        }
    }

    private func add(_ line: String) {
        let granted = state.withLock { state in
            state.lines.append(line)
            let granted = state.wishes.filter { line.hasPrefix($0.beginning) }
            state.wishes.removeAll { line.hasPrefix($0.beginning) }
            return granted
        }
        for wish in granted { wish.resumption.once(returning: line) }
    }
}

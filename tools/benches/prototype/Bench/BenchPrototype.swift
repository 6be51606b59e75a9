import BenchSupport
import Dispatch
import Foundation

/// The engine's prototype as the only load of a process: `tools/bench prototype` starts it, once for each figure.
@main
enum BenchPrototype {
    /// Not asynchronous: hops from the main thread cost ten times those between other threads.
    static func main() {
        let isOver = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                let figures = try await run(try Options(Array(CommandLine.arguments.dropFirst())))
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                print(String(decoding: try encoder.encode(figures), as: UTF8.self))
            } catch {
                FileHandle.standardError.write(Data("bench-prototype: \(error)\n".utf8))
                exit(1)
            }
            isOver.signal()
        }
        isOver.wait()
    }

    private static func run(_ options: Options) async throws -> [String: Double] {
        switch options.mode {
        case "updates": try await Updates(options).run()
        case "fan-out": try await FanOut(options).run()
        case "serve": try await Takeover.serve(options)
        case "takeover": try await Takeover(options).run()
        default: throw Mistake("unknown mode \(options.mode)")
        }
    }
}

import BenchSupport
import Dispatch
import Foundation

/// The daemon's engine as the only load of a process: `tools/bench orchestrator` starts it, once for each figure, and
/// measures the process.
@main
enum BenchOrchestrator {
    /// Not asynchronous: hops from the main thread cost ten times those between other threads, and no daemon works
    /// there.
    static func main() {
        let isOver = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await run(try Options(Array(CommandLine.arguments.dropFirst())))
            } catch {
                FileHandle.standardError.write(Data("bench-orchestrator: \(error)\n".utf8))
                exit(1)
            }
            isOver.signal()
        }
        isOver.wait()
    }

    private static func run(_ options: Options) async throws {
        switch options.mode {
        case "database":
            let buffers = options.has("shared-buffers") ? try options.text("shared-buffers") : nil
            try await PrivateCluster(folder: try options.text("folder"), sharedBuffers: buffers).run()
        case "fan-out": try await report(FanOut(options).run())
        case "singles": try await report(SingleUpdates(options).run())
        case "latency": try await report(Latency(options).run())
        case "registrations": try await report(Registrations(options).run())
        case "load": try await report(Load(options).run())
        case "schedules": try await report(DueSchedules(options).run())
        case "webhooks": try await report(WebhookPosts(options).run())
        default: throw Mistake("unknown mode \(options.mode)")
        }
    }

    private static func report(_ result: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(result), as: UTF8.self))
    }
}

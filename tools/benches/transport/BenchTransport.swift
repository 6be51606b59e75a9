import APNSTransport
import ActivityModel
import BenchSupport
import Dispatch
import Foundation
import HTTP2Engine
import Logging
import Synchronization

/// The transport's client as the only load of a process: `tools/bench transport` starts it and measures the process.
@main
enum BenchTransport {
    /// Not asynchronous: the runtime would end the main thread in a way that valgrind does not survive, and hops from
    /// it cost ten times those between other threads, while no daemon sends from there.
    static func main() {
        let isOver = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                print(try await run(try Options(Array(CommandLine.arguments.dropFirst()))))
            } catch {
                FileHandle.standardError.write(Data("bench-transport: \(error)\n".utf8))
                exit(1)
            }
            isOver.signal()
        }
        isOver.wait()
    }

    private static func run(_ options: Options) async throws -> String {
        let measurement = try Measurement(bodyBytes: try options.number("body"))
        switch options.mode {
        case "describe":
            return try text(RequestDescription(measurement))
        case "batches":
            return try await withClient(options) { client in
                try await text(
                    Batches(
                        client: client,
                        measurement: measurement,
                        count: options.number("count"),
                        chunk: options.number("chunk"),
                        underWay: options.number("under-way")
                    ).run()
                )
            }
        case "singles":
            return try await withClient(options) { client in
                try await text(Singles(client: client, measurement: measurement, count: options.number("count")).run())
            }
        default:
            throw Mistake("unknown mode \(options.mode)")
        }
    }

    /// A client with the product's own settings, but for the place to send to and the bound of connections.
    private static func withClient(
        _ options: Options,
        _ body: (APNSClient) async throws -> String
    ) async throws -> String {
        var endpoints = APNSEndpoints()
        let port = UInt16(clamping: try options.number("port"))
        endpoints[.production, .device] = APNSEndpoint(host: "localhost", port: port)
        var configuration = APNSClientConfiguration()
        configuration.maximumConnections = try options.number("connections")
        guard let http2 = HTTP2Implementation(rawValue: try options.text("http2")) else {
            throw Mistake("--http2 is neither tally nor nghttp2")
        }
        configuration.http2 = http2
        let metrics = CountingMetrics()
        var logger = Logger(label: "bench") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        let client = try APNSClient(
            endpoints: endpoints,
            caFile: try options.text("ca"),
            configuration: configuration,
            logger: logger,
            metrics: metrics
        )
        let result = try await body(client)
        await client.shutDown()
        let counted = Int(metrics.counted.load(ordering: .relaxed))
        guard try counted == options.number("count"), metrics.latencies > 0 else {
            throw Mistake("the metrics have counted \(counted) pushes and \(metrics.latencies) latencies")
        }
        return result
    }

    private static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

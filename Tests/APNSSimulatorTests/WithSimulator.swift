import APITypes
import Foundation
import Logging
import Testing

@testable import APNSSimulator

/// A simulator on real sockets for the length of one test.
func withSimulator(
    _ configure: (inout SimulationSettings) -> Void = { _ in },
    _ body: (SimulatorService, SimulatorAddresses, ControlClient) async throws -> Void
) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "apns-sim-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // nothing depends on it
    var configuration = SimulatorConfiguration(caFile: folder.appending(path: "ca.pem").path)
    configuration.settings.limits.tokenDelay = 0...1
    configure(&configuration.settings)
    let (urls, continuation) = AsyncStream<String>.makeStream()
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let simulator = try SimulatorService(configuration: configuration, logger: logger) { url, _ in
        continuation.yield(url)
    }
    let addresses = try await simulator.start()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await simulator.run() }
        var urls = urls.makeAsyncIterator()
        let url = try #require(await urls.next())
        try await body(simulator, addresses, ControlClient(url: url))
        group.cancelAll()
        // A cancelled service ends by itself or says that it was cancelled.
        _ = await group.nextResult()
    }
}

/// Phones of the sandbox, `p-1` and so on.
func newPhones(_ count: Int) -> ObjectWriter {
    var phones = ObjectWriter()
    phones.add("count", count)
    phones.add("prefix", "p-")
    phones.add("environment", "sandbox")
    phones.add("bundle_id", "com.example.game")
    phones.add("types", words: ["GameAttributes"])
    phones.add("follows", words: ["final"])
    return phones
}

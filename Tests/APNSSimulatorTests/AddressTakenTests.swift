import Foundation
import Logging
import ServiceLifecycle
import Testing

@testable import APNSSimulator

@Suite("A simulator whose control port is taken", .timeLimit(.minutes(1)))
struct AddressTakenTests {
    @Test("It ends, names the address and says which option chooses another")
    func controlPort() async throws {
        try await withSimulator { _, _, control in
            let port = try #require(URL(string: control.base)?.port)
            let file = FileManager.default.temporaryDirectory.appending(path: "apns-sim-\(UUID().uuidString).pem")
            // What is left is in the temporary folder, and no later test looks at it.
            defer { try? FileManager.default.removeItem(at: file) }
            var configuration = SimulatorConfiguration(caFile: file.path)
            configuration.controlPort = port
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            let second = try SimulatorService(configuration: configuration, logger: logger)
            let error = try await #require(throws: SimulatorError.self) { try await second.run() }
            #expect(error.code == .notListening)
            #expect(
                "\(error)" == "cannot listen for the control API on \(control.base): Address already in use; "
                    + "--control-port chooses another port"
            )
        }
    }
}

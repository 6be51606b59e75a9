import ActivityModel

@testable package import Delivery

extension PushQueue {
    /// Sends what is due now.
    package func sendDue() async throws {
        for environment in APNSEnvironment.allCases {
            while case let pushes = try await claim(in: environment), !pushes.isEmpty { try await sendBatch(pushes) }
        }
    }
}

import APITypes
import JSON

extension TallyClient {
    /// Waits until the daemon is ready for work, or until the deadline.
    package func waitUntilReady() async throws(ClientError) {
        try await perform(.get("/health/ready"))
    }

    /// What operators should look at, as sentences. A daemon that is not ready is an error.
    package func warnings() async throws(ClientError) -> [String] {
        try await answer(ReadinessAnswer.self, to: .get("/health/ready")).warnings
    }
}

private struct ReadinessAnswer: APIAnswer {
    let warnings: [String]

    init?(reader: inout ObjectReader) {
        let warnings = reader.required("warnings", .list(of: .string))
        guard reader.finish(), let warnings else { return nil }
        self.warnings = warnings
    }

    var json: JSONValue { ["warnings": .array(warnings.map { .string($0) })] }
}

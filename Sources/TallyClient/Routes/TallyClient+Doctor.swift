package import APITypes

extension TallyClient {
    /// Has the daemon look at everything that sending depends on.
    package func examine(_ request: DoctorRequest) async throws(ClientError) -> DoctorReport {
        // Making channels repeats nothing that matters: each is deleted again.
        try await withPatience(.seconds(120)).answer(DoctorReport.self, to: .post("/v1/doctor", harmless: request))
    }
}

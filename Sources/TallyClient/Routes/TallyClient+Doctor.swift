import APITypes
package import ReportTypes

extension TallyClient {
    /// Lets the daemon check everything that sending depends on.
    package func examine(_ request: DoctorRequest) async throws(ClientError) -> DoctorReport {
        // Repeating it does no harm, because every test channel is deleted again.
        try await withPatience(.seconds(120)).answer(to: .post("/v1/doctor", harmless: request))
    }
}

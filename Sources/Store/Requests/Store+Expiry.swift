package import APITypes
package import Postgres

extension Store {
    /// Refuses a request whose `expires_at` is over by the database's clock.
    ///
    /// - Throws: 422 with the pointer `/expires_at`.
    package static func checkExpiry(_ time: Instant?, on connection: PostgresConnection) async throws {
        guard let time else { return }
        let rows = try await connection.query("SELECT \(time.stored) > clock_timestamp()")
        guard try rows.single(Bool.self) == true else {
            let message = "'expires_at' is in the past."
            throw Problem.invalidRequest(at: ["expires_at"], code: FieldError.outOfRange, message)
        }
    }
}

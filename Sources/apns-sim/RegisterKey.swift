import ArgumentParser
import Foundation

/// The API key by which simulated apps report to Tally. `serve` and `phones create` take it.
enum RegisterKey {
    /// The key of the option, or of the environment.
    ///
    /// - Throws: A `ValidationError` if neither has one.
    static func of(_ option: String?) throws -> String {
        let key = option ?? ProcessInfo.processInfo.environment["TALLY_REGISTER_KEY"] ?? ""
        guard !key.isEmpty else {
            throw ValidationError("--tally-url needs a key: give --tally-key, or set TALLY_REGISTER_KEY.")
        }
        return key
    }
}

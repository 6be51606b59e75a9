/// An invalid setting. Names the key and never quotes a secret.
struct ConfigurationError: Error, CustomStringConvertible {
    let key: String
    let message: String

    var description: String { "\(key): \(message)" }
}

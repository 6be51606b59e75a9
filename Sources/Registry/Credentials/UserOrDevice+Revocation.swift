import APITypes
import ActivityModel
import Cryptography

// Whose signed tickets are revoked.
extension UserOrDevice {
    /// How the database names it, so that a person who is erased is named nowhere.
    var sha256: [UInt8] {
        switch self {
        case .user(let id): SHA256.hash("user/" + id.rawValue)
        case .device(let id): SHA256.hash("device/" + id.rawValue)
        }
    }

    var id: String {
        switch self {
        case .user(let id): id.rawValue
        case .device(let id): id.rawValue
        }
    }
}

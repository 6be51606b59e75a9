package import ActivityModel
package import JSON

/// A user, or one device.
package enum UserOrDevice: Sendable, Hashable {
    case user(UserID)
    case device(DeviceID)
}

/// A line of a list that is added to an audience.
extension UserOrDevice: APIRequest {
    package init?(reader: inout ObjectReader) {
        let user = reader.optional("user_id", .userID)
        let device = reader.optional("device_id", .deviceID)
        let hasUser = reader.has("user_id")
        if hasUser == reader.has("device_id") {
            let message = "Exactly one of 'user_id' and 'device_id' is expected."
            reader.refuse(code: hasUser ? FieldError.conflict : FieldError.missing, message: message)
        }
        let name = user.map { Self.user($0) } ?? device.map { Self.device($0) }
        guard reader.finish(), let name else { return nil }
        self = name
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        switch self {
        case .user(let id): fields.add("user_id", id.rawValue)
        case .device(let id): fields.add("device_id", id.rawValue)
        }
        return fields.json
    }
}

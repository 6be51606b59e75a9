package import ActivityModel
package import JSON

/// `POST …/pushes`: an ordinary push. Live Activities have their own routes.
package struct PushRequest: Sendable, Hashable {
    /// The receiver of the push.
    package enum Target: Sendable, Hashable {
        /// The device token of one device.
        case device(DeviceID)
        /// The device tokens of all devices of a user.
        case user(UserID)
        /// A token that Tally does not store, such as PushKit's. Without an environment: production, if the app has it.
        case token(PushToken, APNSEnvironment?)
    }

    package var to: Target
    package var pushType: PushType
    /// Apple's `aps` object. The push type decides what it must contain.
    package var aps: JSONValue?
    /// The app's own data, next to `aps`.
    package var custom: JSONObject?
    /// Nil: 10 if the push type allows it.
    package var priority: PushPriority?
    /// When attempts stop, at Tally and at APNs. Nil: Tally tries for a day; APNs decides for itself.
    package var expiresAt: Instant?
    /// The push replaces what the device shows under the same id.
    package var collapseID: String?

    package init(
        to: Target,
        pushType: PushType,
        aps: JSONValue? = nil,
        custom: JSONObject? = nil,
        priority: PushPriority? = nil,
        expiresAt: Instant? = nil,
        collapseID: String? = nil
    ) {
        self.to = to
        self.pushType = pushType
        self.aps = aps
        self.custom = custom
        self.priority = priority
        self.expiresAt = expiresAt
        self.collapseID = collapseID
    }
}

extension PushRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("to", \.to, .object(Target.self)),
        .required("push_type", \.pushType, .word(PushType.self)),
        .optional("aps", \.aps, .any),
        .optional("custom", \.custom, .object),
        .optional("priority", \.priority, .priority),
        .optional("expires_at", \.expiresAt, .time),
        .optional("collapse_id", \.collapseID, .collapseID),
        rule: { reader in
            guard let type = reader.peek("push_type", .word(PushType.self)) else { return }
            if let priority = reader.peek("priority", .priority), !type.priorities.contains(priority) {
                let allowed = type.priorities.map(\.rawValue).sorted().map(String.init).joined(separator: " or ")
                let message = "A push of type '\(type.rawValue)' has priority \(allowed)."
                reader.refuse("priority", code: FieldError.outOfRange, message: message)
            }
            if let to = reader.peek("to", .object(Target.self)), !to.isPossible(for: type) {
                let message =
                    "A push of type '\(type.rawValue)' has tokens of its own, which Tally does not keep: name the 'token'."
                reader.refuse("to", code: FieldError.invalidValue, message: message)
            }
        },
        make: Self.init
    )
}

extension PushRequest.Target: APIRequest {
    package init?(reader: inout ObjectReader) {
        let device = reader.optional("device_id", .deviceID)
        let user = reader.optional("user_id", .userID)
        let token = reader.optional("token", .token)
        let environment = reader.optional("environment", .word(APNSEnvironment.self))
        let given = ["device_id", "user_id", "token"].filter(reader.has)
        if given.count != 1 {
            let message = "Exactly one of 'device_id', 'user_id' and 'token' is expected."
            reader.refuse(code: given.isEmpty ? FieldError.missing : FieldError.conflict, message: message)
        } else if reader.has("environment"), !reader.has("token") {
            let message = "'environment' is for a 'token'; a device has its own."
            reader.refuse("environment", code: FieldError.conflict, message: message)
        }
        guard reader.finish() else { return nil }
        if let device {
            self = .device(device)
        } else if let user {
            self = .user(user)
        } else if let token {
            self = .token(token, environment)
        } else {
            return nil
        }
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        switch self {
        case .device(let id): fields.add("device_id", id.rawValue)
        case .user(let id): fields.add("user_id", id.rawValue)
        case .token(let token, let environment):
            fields.add("token", token.hex)
            fields.add("environment", environment?.rawValue)
        }
        return fields.json
    }

    /// Whether Tally can address such a push. Devices register only the token for notifications.
    fileprivate func isPossible(for type: PushType) -> Bool {
        switch self {
        case .token: true
        case .device, .user: type.goesToDeviceToken
        }
    }
}

extension FieldType where Value == String {
    /// An `apns-collapse-id`: 1 to 64 bytes that are valid in a header field.
    fileprivate static var collapseID: Self {
        text("A text of 1 to 64 bytes without control characters, and without blanks at its ends,") { text in
            let bytes = text.utf8
            let isPrintable = bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            let blank = UInt8(ascii: " ")
            return (1...64).contains(bytes.count) && isPrintable && bytes.first != blank && bytes.last != blank
                ? text : nil
        } write: {
            $0
        }
    }
}

/// The answer to a push, 202: the push is stored, and Tally sends it as soon as APNs accepts it.
package struct PushAnswer: Sendable, Hashable {
    /// A UUID. Events refer to the push by it.
    package var pushID: String
    /// The number of tokens that the push goes to.
    package var destinations: Int

    package init(pushID: String, destinations: Int) {
        self.pushID = pushID
        self.destinations = destinations
    }
}

extension PushAnswer: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("push_id", \.pushID, .string),
        .required("destinations", \.destinations, .int),
        make: Self.init
    )
}

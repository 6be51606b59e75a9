package import ActivityModel
package import JSON

/// The devices that an activity is started on. This is a standing rule until the end: later devices that match are
/// started too.
package struct Audience: Sendable, Hashable {
    package var users: [UserID]
    package var devices: [DeviceID]
    /// Every device that has a start token for the type.
    package var allOfType: Bool

    package init(users: [UserID] = [], devices: [DeviceID] = [], allOfType: Bool = false) {
        self.users = users
        self.devices = devices
        self.allOfType = allOfType
    }

    /// Whether it names nobody. Apps then start the activity themselves.
    package var isEmpty: Bool { users.isEmpty && devices.isEmpty && !allOfType }
}

extension Audience: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("users", \.users, .list(of: .userID), unless: []),
        .optional("devices", \.devices, .list(of: .deviceID), unless: []),
        .optional("all_of_type", \.allOfType, .bool, unless: false),
        make: Self.init
    )
}

/// `POST …/activities/{id}/audience`. At least one of `add` and `remove` is required.
package struct AudienceRequest: Sendable, Hashable {
    package var add: Audience?
    package var remove: Audience?
    /// The alert of starts from now on; nil keeps the current one.
    package var alert: AlertContent?

    package init(add: Audience? = nil, remove: Audience? = nil, alert: AlertContent? = nil) {
        self.add = add
        self.remove = remove
        self.alert = alert
    }
}

extension AudienceRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let add = reader.optional("add", .object(Audience.self))
        let remove = reader.optional("remove", .object(Audience.self))
        if !reader.has("add"), !reader.has("remove") {
            reader.refuse(code: FieldError.missing, message: "'add' or 'remove' is required.")
        }
        let alert = reader.optional("alert", .alert)
        if reader.has("alert"), !reader.has("add") {
            reader.refuse("alert", code: FieldError.conflict, message: "'alert' is for devices that 'add' adds.")
        }
        guard reader.finish() else { return nil }
        self.init(add: add, remove: remove, alert: alert)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("add", add)
        fields.add("remove", remove)
        fields.add("alert", alert?.json)
        return fields.json
    }
}

/// The number of devices that an audience reaches now.
package struct AudienceCounts: Sendable, Hashable {
    /// Registered devices that match.
    package var devices: Int
    /// Named users without a registered device.
    package var unknownUsers: Int
    /// Named devices that are not registered.
    package var unknownDevices: Int

    package init(devices: Int = 0, unknownUsers: Int = 0, unknownDevices: Int = 0) {
        self.devices = devices
        self.unknownUsers = unknownUsers
        self.unknownDevices = unknownDevices
    }
}

extension AudienceCounts: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("devices", \.devices, .int),
        .required("unknown_users", \.unknownUsers, .int),
        // Absent from answers that earlier daemons kept for an idempotency key.
        .optional("unknown_devices", \.unknownDevices, .int, else: 0),
        make: Self.init
    )
}

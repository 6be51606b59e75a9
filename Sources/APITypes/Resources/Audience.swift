package import ActivityModel
import JSON

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

extension Audience: APIRequest, APIObject {
    package static let fields = FieldTable({ Self() }) {
        defaulted("users", .list(of: .userID), \.users, omitting: [])
        defaulted("devices", .list(of: .deviceID), \.devices, omitting: [])
        defaulted("all_of_type", .bool, \.allOfType, omitting: false)
    }
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

extension AudienceRequest: APIRequest, APIObject {
    package static let fields = FieldTable({ Self() }) {
        optional("add", .object(Audience.self), \.add)
        optional("remove", .object(Audience.self), \.remove)
        check { reader in
            if !reader.has("add"), !reader.has("remove") {
                reader.refuse(code: FieldError.missing, message: "'add' or 'remove' is required.")
            }
        }
        optional("alert", .alert, \.alert)
        check { reader in
            if reader.has("alert"), !reader.has("add") {
                reader.refuse("alert", code: FieldError.conflict, message: "'alert' is for devices that 'add' adds.")
            }
        }
    }
}

/// The number of devices that an audience reaches now.
package struct AudienceCounts: Sendable, Hashable {
    /// Registered devices that match.
    package var devices: Int
    /// Named users without a registered device.
    package var unknownUsers: Int

    package init(devices: Int, unknownUsers: Int) {
        self.devices = devices
        self.unknownUsers = unknownUsers
    }
}

extension AudienceCounts: APIAnswer, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("devices", .int, \.devices)
        required("unknown_users", .int, \.unknownUsers)
    }
}

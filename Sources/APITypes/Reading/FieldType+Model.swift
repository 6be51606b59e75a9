package import ActivityModel
import JSON

// Identifiers and values of the domain.

extension FieldType where Value: TextIdentifier {
    /// `what` describes the expected text.
    static func id(_ what: @autoclosure @escaping @Sendable () -> String) -> Self {
        text(what(), { Value($0) }, write: { $0.rawValue })
    }
}

extension FieldType where Value == BundleID {
    package static var bundleID: FieldType<BundleID> { id("A bundle id of letters, digits, periods and hyphens") }
}

extension FieldType where Value == TeamID {
    package static var teamID: FieldType<TeamID> { id("A team id of ten letters and digits") }
}

extension FieldType where Value == KeyID {
    package static var keyID: FieldType<KeyID> { id("A key id of ten letters and digits") }
}

extension FieldType where Value == ActivityID {
    package static var activityID: FieldType<ActivityID> { id("An id of " + callerIDCharacters) }
}

extension FieldType where Value == DeviceID {
    package static var deviceID: FieldType<DeviceID> { id("An id of " + callerIDCharacters) }
}

extension FieldType where Value == UserID {
    package static var userID: FieldType<UserID> { id("An id of " + callerIDCharacters) }
}

extension FieldType where Value == WebhookID {
    package static var webhookID: FieldType<WebhookID> { id("An id of " + callerIDCharacters) }
}

extension FieldType where Value == ActivityTypeName {
    package static var typeName: FieldType<ActivityTypeName> { id(typeNameForm) }
}

extension FieldType where Value == ChannelID {
    package static var channelID: FieldType<ChannelID> { id("A UUID") }
}

extension FieldType where Value == APNSChannelID {
    package static var apnsChannelID: FieldType<APNSChannelID> { id("A channel id in base64, as Apple gives it,") }
}

extension FieldType where Value == PushToken {
    /// Hex text. The error for an invalid token does not repeat it.
    package static var token: FieldType<PushToken> {
        text("A token of 2 to 512 hex digits, an even number,", { PushToken(hex: $0) }, write: { $0.hex })
    }
}

extension FieldType where Value == OSVersion {
    package static var osVersion: FieldType<OSVersion> {
        text(
            "A version of 1 to 128 printable ASCII characters, such as '18.1',",
            { OSVersion($0) },
            write: { $0.description }
        )
    }
}

extension FieldType where Value == AppVersion {
    package static var appVersion: FieldType<AppVersion> {
        text(
            "A version of 1 to 128 printable ASCII characters, such as '2.10.1',",
            { AppVersion($0) },
            write: { $0.description }
        )
    }
}

extension FieldType where Value == Instant {
    /// RFC 3339 with an offset.
    package static var time: FieldType<Instant> {
        text("An RFC 3339 time, such as '2022-12-18T15:00:00Z',", { Instant($0) }, write: { $0.description })
    }
}

extension FieldType where Value == PushPriority {
    /// The `apns-priority`: 1, 5 or 10.
    package static var priority: FieldType<PushPriority> {
        of("1, 5 or 10") {
            $0.int64.flatMap(Int.init(exactly:)).flatMap { PushPriority(rawValue: $0) }
        } write: {
            .number(JSONNumber($0.rawValue))
        }
    }
}

/// The form of the caller's own ids, for messages.
let callerIDCharacters = "1 to 128 printable ASCII characters, other than '.' and '..',"
/// The form of an activity type's name, for messages.
let typeNameForm = "The name of a Swift type (letters, digits and '_', no digit first)"

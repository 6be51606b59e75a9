import APITypes
import ActivityModel
import ArgumentParser
import JSON

/// A JSON object on the command line: text, or `@FILE`.
struct JSONArgument: ExpressibleByArgument {
    let text: String

    init?(argument: String) {
        text = argument
    }

    func value(of option: String) throws -> JSONValue {
        if text.hasPrefix("@") { return try Files.readJSON(String(text.dropFirst())) }
        return try Files.parse(Array(text.utf8), from: option)
    }

    func object(of option: String) throws -> JSONObject {
        guard let object = try value(of: option).object else { throw UsageError("\(option) must be a JSON object.") }
        return object
    }
}

/// A value of the domain on the command line, checked by the domain's rules.
struct Checked<Value> {
    let value: Value
}

extension Checked: ExpressibleByArgument where Value: CommandLineValue {
    init?(argument: String) {
        guard let value = Value(commandLine: argument) else { return nil }
        self.value = value
    }
}

protocol CommandLineValue: Sendable {
    init?(commandLine text: String)
}

extension TextIdentifier where Self: CommandLineValue {
    init?(commandLine text: String) { self.init(text) }
}

extension BundleID: CommandLineValue {}
extension TeamID: CommandLineValue {}
extension KeyID: CommandLineValue {}
extension ActivityID: CommandLineValue {}
extension DeviceID: CommandLineValue {}
extension UserID: CommandLineValue {}
extension Topic: CommandLineValue {}
extension TopicPattern: CommandLineValue {}
extension ActivityTypeName: CommandLineValue {}
extension ChannelID: CommandLineValue {}
extension WebhookID: CommandLineValue {}
extension APNSChannelID: CommandLineValue {}

extension PushToken: CommandLineValue {
    init?(commandLine text: String) { self.init(hex: text) }
}
extension OSVersion: CommandLineValue {
    init?(commandLine text: String) { self.init(text) }
}
extension AppVersion: CommandLineValue {
    init?(commandLine text: String) { self.init(text) }
}
extension Instant: CommandLineValue {
    init?(commandLine text: String) { self.init(text) }
}

/// An id that Tally gave: a UUID.
struct ResourceUUID: CommandLineValue {
    let text: String

    init?(commandLine text: String) {
        // Channel ids are UUIDs, too, so their type checks the text.
        guard let id = ChannelID(text) else { return nil }
        self.text = id.rawValue
    }
}

import ActivityModel
import ArgumentParser

/// The options for an alert. Each line is a text, or a key that the app translates.
struct AlertOptions: ParsableArguments {
    @Option(help: "The alert's first line.") var alertTitle: String?
    @Option(help: "The alert's second line.") var alertBody: String?
    @Option(help: ArgumentHelp("The first line, as a key that the app translates.", valueName: "key"))
    var alertTitleLocKey: String?
    @Option(help: ArgumentHelp("Fills the next place in the translated first line; repeat.", valueName: "text"))
    var alertTitleLocArg: [String] = []
    @Option(help: ArgumentHelp("The second line, as a key that the app translates.", valueName: "key"))
    var alertBodyLocKey: String?
    @Option(help: ArgumentHelp("Fills the next place in the translated second line; repeat.", valueName: "text"))
    var alertBodyLocArg: [String] = []
    @Option(help: "default, or a file of the app's.") var alertSound: String?

    func validate() throws { _ = try content() }

    func content() throws -> AlertContent? {
        let title = try Self.line("title", alertTitle, key: alertTitleLocKey, alertTitleLocArg)
        let body = try Self.line("body", alertBody, key: alertBodyLocKey, alertBodyLocArg)
        if let title, let body { return AlertContent(title: title, body: body, sound: alertSound) }
        guard title == nil, body == nil else {
            throw ValidationError("The alert's title and body go together.")
        }
        if alertSound != nil { throw ValidationError("--alert-sound needs an alert's title and body.") }
        return nil
    }

    private static func line(_ name: String, _ text: String?, key: String?, _ arguments: [String]) throws -> AlertText?
    {
        if let key {
            guard text == nil else {
                throw ValidationError("Give --alert-\(name) or --alert-\(name)-loc-key, not both.")
            }
            guard !key.isEmpty else { throw ValidationError("--alert-\(name)-loc-key must not be empty.") }
            return .localized(key: key, arguments: arguments)
        }
        guard arguments.isEmpty else {
            throw ValidationError("--alert-\(name)-loc-arg needs --alert-\(name)-loc-key.")
        }
        return text.map { .plain($0) }
    }
}

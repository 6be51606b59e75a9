import APITypes
import ActivityModel
import ArgumentParser
import JSON
import TallyClient

struct Send: AppCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send an ordinary push: an alert, a background push, or any other type.",
        discussion: """
            To a device, to all devices of a user, or to a token that Tally does not keep. It is stored and tried until APNs has \
            taken or refused it; `tally events --kind push_sent --kind push_failed` tells what came of it. Live Activities have \
            `tally activities`.
            """,
        examples: "tally send --user ada --title Hello --body World"
    )

    @Option(help: "The device to send it to.") var device: Checked<DeviceID>?
    @Option(help: "The user whose devices to send it to.") var user: Checked<UserID>?
    @Option(help: "The token to send it to, in hex.") var token: Checked<PushToken>?
    @Option(help: "sandbox or production, for a token; by default production if the app has it.")
    var environment: APNSEnvironment?
    @Option(help: "The push type.") var type = PushType.alert
    @Option(help: "The alert's first line.") var title: String?
    @Option(help: "The alert's second line.") var body: String?
    @Option(help: "default, or a file of the app's.") var sound: String?
    @Option(help: "Apple's aps object, in place of an alert; JSON, or @FILE.") var aps: JSONArgument?
    @Option(help: "The app's own data beside aps; JSON, or @FILE.") var custom: JSONArgument?
    @Option(help: "1, 5 or 10; by default the highest that the type allows.") var priority: Checked<PushPriority>?
    @Option(help: "Until when it is tried, RFC 3339.") var expires: Checked<Instant>?
    @Option(help: "Replaces what the device shows under the same id.") var collapseID: String?
    @Option(help: "Makes a repeat of this very command harmless.") var idempotencyKey: String?
    @Flag(help: "Only check the request and print it; send nothing.") var dryRun = false
    @OptionGroup var app: AppOption

    func validate() throws {
        guard [device != nil, user != nil, token != nil].count(where: \.self) == 1 else {
            throw ValidationError("Give one of --device, --user and --token.")
        }
        if environment != nil, token == nil { throw ValidationError("--environment goes with --token.") }
        if aps != nil, title != nil || body != nil || sound != nil {
            throw ValidationError("Give --aps, or --title, --body and --sound.")
        }
    }

    /// The request. Checks the API's rules before it is sent.
    func request() throws -> PushRequest {
        let request = PushRequest(
            to: try target(),
            pushType: type,
            aps: try aps?.value(of: "--aps") ?? alert,
            custom: try custom?.object(of: "--custom"),
            priority: priority?.value,
            expiresAt: expires?.value,
            collapseID: collapseID
        )
        return try PushRequest(json: request.json)
    }

    private func target() throws -> PushRequest.Target {
        if let device { return .device(device.value) }
        if let user { return .user(user.value) }
        guard let token else { throw UsageError("Give one of --device, --user and --token.") }
        return .token(token.value, environment)
    }

    /// The `aps` object for the alert options; nil if none is given.
    private var alert: JSONValue? {
        guard title != nil || body != nil || sound != nil else { return nil }
        var words = ObjectWriter()
        words.add("title", title)
        words.add("body", body)
        var fields = ObjectWriter()
        if title != nil || body != nil { fields.add("alert", words.json) }
        fields.add("sound", sound)
        return fields.json
    }

    func run(_ session: CommandSession) async throws {
        let request = try request()
        guard !dryRun else {
            let text = "Would be posted; nothing was sent.\n\n" + request.json.indentedText
            return session.show(line: text, json: request.json)
        }
        session.show(try await session.client.push(session.app(), request, idempotencyKey: idempotencyKey))
    }
}

extension PushType: ExpressibleByArgument {}

extension PushPriority: CommandLineValue {
    init?(commandLine text: String) {
        guard let priority = Int(text).flatMap({ PushPriority(rawValue: $0) }) else { return nil }
        self = priority
    }
}

extension PushAnswer: Presentable {
    var text: String { "Push \(pushID): accepted for \(destinations) token\(destinations == 1 ? "" : "s")." }
}

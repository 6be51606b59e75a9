import APITypes
import ActivityModel
import ArgumentParser
import JSON

/// Formats of a push's payload for other tools. None contains a token or a key.
enum PayloadFormat: String, ExpressibleByArgument, CaseIterable {
    /// Only the body, for Apple's Push Notifications Console.
    case json
    /// A command line as on Apple's page "Sending push notifications using command-line tools".
    case curl
    /// A file for `xcrun simctl push`.
    case simctl

    func text(of push: PlannedPush, app: BundleID, environment: APNSEnvironment) -> String {
        switch self {
        case .json: push.body.indentedText
        case .curl: Self.curl(push, environment)
        case .simctl: Self.simctl(push, app)
        }
    }

    private static func curl(_ push: PlannedPush, _ environment: APNSEnvironment) -> String {
        let host =
            switch environment {
            case .production: "api.push.apple.com"
            case .sandbox: "api.sandbox.push.apple.com"
            }
        let fields = push.headers.entries.map { "\($0.key): \($0.value.string ?? $0.value.text)" }
        let variable = push.to == .startTokens ? "$PUSH_TO_START_TOKEN" : "$ACTIVITY_PUSH_TOKEN"
        let path = push.path.split(separator: "{token}", omittingEmptySubsequences: false).joined(separator: variable)
        let lines =
            fields.map { "  --header \(quoted($0)) \\" }
            + [#"  --header "authorization: bearer $AUTHENTICATION_TOKEN" \"#, "  --data \(quoted(push.body.text)) \\"]
        return "curl --http2 \\\n" + lines.joined(separator: "\n") + "\n  \"https://\(host)\(path)\""
    }

    /// The file names the app, so that `xcrun simctl push booted payload.json` finds it.
    private static func simctl(_ push: PlannedPush, _ app: BundleID) -> String {
        var body = push.body.object ?? JSONObject()
        body["Simulator Target Bundle"] = .string(app.rawValue)
        return JSONValue.object(body).indentedText
    }

    /// Quotes text as one word for a POSIX shell.
    private static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}

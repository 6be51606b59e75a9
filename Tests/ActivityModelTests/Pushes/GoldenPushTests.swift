import APITypes
import ActivityModel
import Foundation
import JSON
import Testing

/// The examples of Apple's pages, and one push of every other type, against `Tests/Golden/pushes`.
@Suite("Bodies as Apple's examples have them")
struct GoldenPushTests {
    struct Golden: Sendable, CustomTestStringConvertible {
        let file: String
        let type: PushType
        let content: NotificationContent
        let custom: JSONObject

        init(
            _ file: String,
            _ type: PushType = .alert,
            custom: JSONObject = JSONObject(),
            _ content: (inout NotificationContent) -> Void = { _ in }
        ) {
            var made = NotificationContent()
            content(&made)
            (self.file, self.type, self.content, self.custom) = (file, type, made, custom)
        }

        var testDescription: String { file }
    }

    static let ordinary: [Golden] = [
        Golden("alert-with-category", custom: ["gameID": "12345678"]) {
            $0.alert = NotificationAlert(
                title: .plain("Invitation"),
                subtitle: .plain("Five rounds"),
                body: .plain("Ana asks you to play")
            )
            $0.category = "INVITATION"
        },
        Golden("badge-and-sound", custom: ["messageID": "ABCDEFGHIJ"]) {
            $0.badge = 9
            $0.sound = .named("whistle.aiff")
        },
        Golden("localized-body") {
            $0.alert = NotificationAlert(body: .localized(key: "PLAY_REQUEST_FORMAT", arguments: ["Ana", "Rui"]))
        },
        Golden("alert-text", custom: ["acme2": ["bang", "whiz"]]) {
            $0.alert = NotificationAlert(body: .plain("A message from Ana"))
        },
        Golden("button-key-and-badge", custom: ["acme1": "bar", "acme2": ["bang", "whiz"]]) {
            $0.alert = NotificationAlert(
                title: .plain("Invitation"),
                body: .plain("Ana asks you to play"),
                actionKey: "PLAY"
            )
            $0.badge = 5
        },
        Golden("text-badge-sound", custom: ["acme1": "bar", "acme2": 42]) {
            $0.alert = NotificationAlert(body: .plain("You have new mail."))
            $0.badge = 9
            $0.sound = .named("whistle.aiff")
        },
        Golden("localized-body-and-sound", custom: ["acme": "foo"]) {
            $0.alert = NotificationAlert(body: .localized(key: "PLAY_REQUEST_FORMAT", arguments: ["Ana", "Rui"]))
            $0.sound = .named("chime.aiff")
        },
        Golden(
            "category-button-badge-sound",
            custom: ["acme-account": "ana@example.com", "acme-message": "message123456"]
        ) {
            $0.category = "NEW_MESSAGE_CATEGORY"
            $0.alert = NotificationAlert(body: .plain("A message from Ana"), actionKey: "VIEW")
            $0.badge = 3
            $0.sound = .named("chime.aiff")
        },
        Golden("basic-alert") {
            $0.alert = NotificationAlert(
                title: .plain("New message"),
                subtitle: .plain("From Ana"),
                body: .plain("Are you free at noon?")
            )
            $0.badge = 3
            $0.sound = .named("default")
        },
        Golden("localized-title-and-body") {
            $0.alert = NotificationAlert(
                title: .localized(key: "MESSAGE_TITLE", arguments: ["Ana"]),
                body: .localized(key: "MESSAGE_BODY", arguments: ["Ana", "lunch"])
            )
            $0.sound = .named("default")
        },
        Golden("localized-subtitle") {
            $0.alert = NotificationAlert(
                title: .plain("Goal"),
                subtitle: .localized(key: "MINUTE", arguments: ["23"]),
                launchImage: "Match"
            )
        },
        Golden("background", .background, custom: ["custom-key": "sync-update"]),
        Golden("service-extension", custom: ["image-url": "https://example.com/photo.jpg"]) {
            $0.alert = NotificationAlert(title: .plain("A photo"), body: .plain("Ana shared a photo with you"))
            $0.isMutable = true
            $0.sound = .named("default")
        },
        Golden("critical-alert") {
            $0.alert = NotificationAlert(title: .plain("Server down"), body: .plain("The database does not answer"))
            $0.sound = .critical(name: "default", volume: 1)
            $0.interruptionLevel = .critical
        },
        Golden("critical-sound") {
            $0.badge = 1
            $0.sound = .critical(name: "chime.aiff", volume: JSONNumber(digits: "0.9"))
        },
        Golden("time-sensitive", custom: ["order-id": "12345"]) {
            $0.alert = NotificationAlert(title: .plain("Delivered"), body: .plain("Your order is at the door"))
            $0.interruptionLevel = .timeSensitive
            $0.category = "DELIVERY"
            $0.sound = .named("default")
        },
        Golden("every-key", custom: ["acme": ["nested": [1, 2.5, true, nil]]]) {
            $0.alert = NotificationAlert(
                title: .plain("t"),
                subtitle: .plain("s"),
                body: .plain("b"),
                launchImage: "l"
            )
            $0.badge = 0
            $0.sound = .named("default")
            $0.threadID = "match-7"
            $0.category = "GOAL"
            $0.isContentAvailable = true
            $0.isMutable = true
            $0.targetContentID = "window-1"
            $0.interruptionLevel = .passive
            $0.relevanceScore = JSONNumber(digits: "0.25")
            $0.filterCriteria = "work"
        },
        Golden("voip", .voip, custom: ["call": "c-1"]),
        Golden("push-to-talk", .pushToTalk, custom: ["activeRemoteParticipant": "Ana"]),
        Golden("location", .location),
        Golden("complication", .complication, custom: ["steps": 1200]),
        Golden("widgets", .widgets),
        Golden("controls", .controls),
        Golden("file-provider", .fileProvider, custom: ["container-identifier": "folder-1", "domain": "work"]),
        Golden("mdm", .mdm, custom: ["mdm": "1CF5A6E4-2B3C-4F0A-9D1E-7A5B3C2D1E0F"]),
    ]

    @Test("what is built is the example", arguments: ordinary)
    func built(golden: Golden) throws {
        let payload = PushPayload(golden.type, content: golden.content, custom: golden.custom)
        #expect(try JSONValue.parse(payload.body) == file(golden.file))
    }

    @Test("what is read from the example is what was built, and is written as it was read", arguments: ordinary)
    func read(golden: Golden) throws {
        var custom = try #require(try file(golden.file).object)
        let aps = custom["aps"]
        custom["aps"] = nil
        let payload = try PushPayload(golden.type, aps: aps, custom: custom)
        #expect(payload == PushPayload(golden.type, content: golden.content, custom: golden.custom))
        #expect(try JSONValue.parse(payload.body) == file(golden.file))
    }

    static let liveActivities: [(String, [UInt8])] = [
        ("live-activity-start", start(.none)),
        ("live-activity-start-on-channel", start(.channel(APNSChannelID(stored: "dHN0LXNyY2gtY2hubA==")))),
        (
            "live-activity-update",
            LiveActivityBody.update(LiveActivityBody.Content(contentState: state(2, 1, "Top 7")), timestamp: stamp)
        ),
        (
            "live-activity-update-every-key",
            LiveActivityBody.update(
                LiveActivityBody.Content(
                    contentState: state(2, 1, "Top 7"),
                    alert: AlertContent(
                        title: .localized(key: "GOAL", arguments: ["North"]),
                        body: .plain("2:1"),
                        sound: "chime.aiff"
                    ),
                    hints: CardHints(staleAfterSeconds: 600, relevanceScore: 75)
                ),
                timestamp: stamp
            )
        ),
        (
            "live-activity-end",
            LiveActivityBody.end(
                contentState: state(5, 3, "Final"),
                alert: nil,
                dismissal: .after(seconds: 3600),
                timestamp: stamp
            )
        ),
    ]

    @Test("Live Activities", arguments: liveActivities)
    func liveActivity(name: String, body: [UInt8]) throws {
        #expect(try JSONValue.parse(body) == file(name))
    }

    @Test("no example is left out")
    func complete() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(files) == Set((Self.ordinary.map(\.file) + Self.liveActivities.map(\.0)).map { $0 + ".json" }))
        #expect(Set(Self.ordinary.map(\.type)).union([.liveActivity]) == Set(PushType.allCases))
    }

    private static let stamp: Timestamp = 1_709_913_600

    private static func state(_ home: Int, _ away: Int, _ inning: String) -> CompactJSON {
        CompactJSON([
            "homeScore": .number(JSONNumber(home)), "awayScore": .number(JSONNumber(away)), "inning": .string(inning),
        ])
    }

    private static func start(_ inputPush: LiveActivityBody.InputPush) -> [UInt8] {
        LiveActivityBody.start(
            ActivityTypeName(stored: "GameAttributes"),
            attributes: CompactJSON(["homeTeam": "North", "awayTeam": "South"]),
            content: LiveActivityBody.Content(
                contentState: state(0, 0, "Top 1"),
                alert: AlertContent(title: .plain("The game begins"), body: .plain("North against South"))
            ),
            timestamp: stamp,
            inputPush: inputPush
        )
    }

    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Golden/pushes")

    private func file(_ name: String) throws -> JSONValue {
        try JSONValue.parse([UInt8](Data(contentsOf: Self.folder.appending(path: name + ".json"))))
    }
}

import APITypes
import ActivityModel
import ArgumentParser
import JSON
import TallyClient

extension Activities {
    struct ChangeAudience: AppCommand {
        static let configuration = CommandConfiguration(
            commandName: "audience",
            abstract: "Add to the audience of an activity, or take from it.",
            discussion: """
                Tally starts the activity with its newest state on the devices that you add, now or when they register. A \
                device that you take out keeps a card that it has, and is not started any more. Starts that leave from now \
                on carry the alert that you give.

                A file for --file has any length. Each line is {"user_id": "ada"} or {"device_id": "phone-1"}. If it \
                breaks off, repeat the command with the --idempotency-key that it printed. Tally skips what it has.
                """,
            examples: "tally activities audience match-1 --add-user ada --remove-device phone-2",
            "tally activities audience match-1 --file followers.ndjson"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Option(help: "A user to add; repeat for several.") var addUser: [Checked<UserID>] = []
        @Option(help: "A device to add; repeat for several.") var addDevice: [Checked<DeviceID>] = []
        @Flag(help: "Add every device with a start token for the type.") var addAllOfType = false
        @Option(help: "A topic to add: all its followers; repeat for several.") var addTopic: [Checked<Topic>] = []
        @Option(help: "Followers of the added topics must follow this one, too; repeat for several.")
        var andTopic: [Checked<Topic>] = []
        @Option(help: "Leave out followers of this topic from the added ones; repeat for several.")
        var exceptTopic: [Checked<Topic>] = []
        @Option(help: "A topic to take out; repeat for several.") var removeTopic: [Checked<Topic>] = []
        @Option(help: "A user to take out; repeat for several.") var removeUser: [Checked<UserID>] = []
        @Option(help: "A device to take out; repeat for several.") var removeDevice: [Checked<DeviceID>] = []
        @Flag(help: "Take back that every device of the type is added.") var removeAllOfType = false
        @Option(help: "A file of users and devices to add, or - for the standard input.") var file: String?
        @Option(help: "Makes a repeat of this very command harmless.") var idempotencyKey: String?
        @OptionGroup var alert: AlertOptions
        @OptionGroup var app: AppOption

        func validate() throws {
            if file != nil {
                guard added.isEmpty, removed.isEmpty else {
                    throw ValidationError("--file goes with an alert at most.")
                }
                return
            }
            if added.isEmpty, removed.isEmpty { throw ValidationError("Name somebody to add or to take out.") }
            if added.isEmpty, try alert.content() != nil { throw ValidationError("An alert is for who is added.") }
        }

        private var added: Audience {
            Audience(
                users: addUser.map(\.value),
                devices: addDevice.map(\.value),
                allOfType: addAllOfType,
                topics: addTopic.map(\.value),
                topicsAll: andTopic.map(\.value),
                exceptTopics: exceptTopic.map(\.value)
            )
        }

        private var removed: Audience {
            Audience(
                users: removeUser.map(\.value),
                devices: removeDevice.map(\.value),
                allOfType: removeAllOfType,
                topics: removeTopic.map(\.value)
            )
        }

        func request() throws -> AudienceRequest {
            AudienceRequest(
                add: added.isEmpty ? nil : added,
                remove: removed.isEmpty ? nil : removed,
                alert: try alert.content()
            )
        }

        func run(_ session: CommandSession) async throws {
            if let file { return session.show(try await add(linesOf: file, session)) }
            let client = session.client
            session.show(
                try await client.changeAudience(session.app(), id.value, request(), idempotencyKey: idempotencyKey)
            )
        }

        private func add(linesOf path: String, _ session: CommandSession) async throws -> AudienceCounts {
            let app = try session.app()
            let lines = try LineFile(path: path)
            if let alert = try alert.content() {
                // Lines carry none.
                let request = AudienceRequest(add: Audience(), alert: alert)
                _ = try await session.client.changeAudience(app, id.value, request)
            }
            let key = idempotencyKey ?? TallyClient.newIdempotencyKey()
            if idempotencyKey == nil {
                let json: JSONValue = ["idempotency_key": .string(key)]
                Terminal.printError(
                    session.json ? json.text : "If this breaks off, repeat it with --idempotency-key \(key)"
                )
            }
            let showsProgress = Terminal.errorIsTerminal && !session.json
            do {
                let counts = try await session.client
                    .addToAudience(app, id.value, lines: lines, idempotencyKey: key) { sent in
                        if showsProgress { Terminal.writeError("\r\(sent) lines sent") }
                    }
                // Clears the line.
                if showsProgress { Terminal.writeError("\r\u{1B}[K") }
                return counts
            } catch {
                if showsProgress { Terminal.writeError("\n") }
                throw error
            }
        }
    }
}

extension AudienceCounts: Presentable {
    var text: String { FactList(fieldTexts).text }

    /// The names and values to print.
    var fieldTexts: [(String, String?)] {
        [
            ("lines", lines.map(String.init)), ("stored before", skippedLines.map(String.init)),
            ("devices", String(devices)), ("unknown users", unknownUsers == 0 ? nil : String(unknownUsers)),
            ("unknown devices", unknownDevices == 0 ? nil : String(unknownDevices)),
        ]
    }
}

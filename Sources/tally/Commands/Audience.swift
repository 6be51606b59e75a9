import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

extension Activities {
    struct ChangeAudience: ClientCommand {
        static let configuration = CommandConfiguration(
            commandName: "audience",
            abstract: "Add to the audience of an activity, or take from it.",
            discussion: """
                Tally starts the activity with its newest state on the devices that you add, now or when they register. A \
                device that you take out keeps a card that it has, and is not started any more. Starts that leave from now \
                on carry the alert that you give.
                """,
            examples: "tally activities audience match-1 --add-user ada --remove-device phone-2"
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
        @OptionGroup var alert: AlertOptions
        @OptionGroup var app: AppOption
        @OptionGroup var global: GlobalOptions

        var appName: String? { app.app }

        func validate() throws {
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

        func run(_ session: Session) async throws {
            session.show(try await session.client.changeAudience(session.app(), id.value, request()))
        }
    }
}

extension AudienceCounts: Presentable {
    var text: String { Card(lines).text }

    /// The names and values to print.
    var lines: [(String, String?)] {
        [
            ("devices", String(devices)), ("unknown users", unknownUsers == 0 ? nil : String(unknownUsers)),
            ("unknown devices", unknownDevices == 0 ? nil : String(unknownDevices)),
        ]
    }
}

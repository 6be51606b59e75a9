import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

extension Activities {
    struct Explain: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Why phones show what they show: the story of an activity, or of a device's or a user's part.",
            discussion: "The verdict first, then what happened, the newest at the end.",
            examples: "tally activities explain match-1 --device phone-1"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Option(help: "Only what concerns this device.") var device: Checked<DeviceID>?
        @Option(help: "Only entries of this user's devices. The verdict stays that of the activity.")
        var user: Checked<UserID>?
        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func validate() throws {
            if device != nil, user != nil { throw ValidationError("Give --device or --user, not both.") }
        }

        func run(_ session: CommandSession) async throws {
            let answer = try await session.client.timeline(
                session.app(),
                id.value,
                device: device?.value,
                user: user?.value,
                page.request
            )
            session.show(answer)
            if !session.json, let cursor = answer.page.nextCursor {
                Terminal.printError("Older entries: --cursor \(cursor)")
            }
        }
    }
}

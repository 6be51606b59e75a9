import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

extension Activities {
    struct Explain: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "Why phones show what they show: the story of an activity, or of one device's part in it.",
            discussion: "The verdict first, then what happened, the newest at the end.",
            examples: "tally activities explain match-1 --device phone-1"
        )

        @Argument(help: "The activity.") var id: Checked<ActivityID>
        @Option(help: "Only what concerns this device.") var device: Checked<DeviceID>?
        @OptionGroup var app: AppOption
        @OptionGroup var page: PageOptions
        @OptionGroup var global: GlobalOptions

        var appName: String? { app.app }

        func run(_ session: Session) async throws {
            let answer = try await session.client.timeline(
                session.app(),
                id.value,
                device: device?.value,
                page.request
            )
            session.show(answer)
            if !session.json, let cursor = answer.page.nextCursor {
                Console.printError("Older entries: --cursor \(cursor)")
            }
        }
    }
}

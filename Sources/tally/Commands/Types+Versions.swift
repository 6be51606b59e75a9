import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

extension Types {
    struct Versions: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "The versions of a type, newest first.",
            examples: "tally types versions Game"
        )

        @Argument(help: "The type's name.") var name: Checked<ActivityTypeName>
        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.typeVersions(session.app(), name.value, page.request))
        }
    }

    struct Retire: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Retire a version of a type, so that it holds nothing back.",
            discussion: """
                Tally then accepts content that phones of this version cannot decode, and withholds it from them. They still \
                get what they can decode.
                """,
            examples: "tally types retire Game 2"
        )

        @Argument(help: "The type's name.") var name: Checked<ActivityTypeName>
        @Argument(help: "The number of the version.") var version: Int
        @Flag(help: "Take it back.") var undo = false
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let request = TypeVersionRequest(retired: !undo)
            let stored = try await session.client.putTypeVersion(session.app(), name.value, version, request)
            session.show(
                line: "Version \(stored.version) is \(stored.retiredAt == nil ? "in use again" : "retired").",
                json: stored.json
            )
        }
    }
}

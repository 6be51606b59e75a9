import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Schedules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Starts, updates and ends that are due later.",
        subcommands: [List.self, Show.self, Cancel.self, Run.self]
    )

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "The schedules of an app.",
            discussion: "On a narrow terminal, -o wide shows their states and reasons.",
            examples: "tally schedules list --state pending"
        )

        @Option(help: "Only those in one state: pending, done, cancelled or failed.") var state: ScheduleState?
        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.schedules(session.app(), state: state, page.request))
        }
    }

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "One schedule, and why it failed if it did.",
            examples: "tally schedules show 0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11"
        )

        @Argument(help: "The schedule's id, a UUID.") var id: Checked<ResourceUUID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.schedule(session.app(), id.value.text))
        }
    }

    struct Cancel: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Cancel a pending schedule.",
            examples: "tally schedules cancel 0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11"
        )

        @Argument(help: "The schedule's id, a UUID.") var id: Checked<ResourceUUID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            try await session.client.cancelSchedule(session.app(), id.value.text)
            session.show(done: "The schedule is cancelled.")
        }
    }
}

extension Schedules {
    struct Run: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run a pending schedule now instead of at its time.",
            discussion: "One that has run already is shown as it is.",
            examples: "tally schedules run 0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11"
        )

        @Argument(help: "The schedule's id, a UUID.") var id: Checked<ResourceUUID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.runSchedule(session.app(), id.value.text))
        }
    }
}

extension ScheduleState: ExpressibleByArgument {}

extension ScheduleResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "SCHEDULE"), .init(title: "ACTIVITY"), .init(title: "KIND"), .init(title: "DUE"),
        .init(title: "STATE", isExtra: true), .init(title: "REASON", isExtra: true),
    ]

    var row: [String] {
        [id, activityID.rawValue, kind.rawValue, dueAt.inTable, state.rawValue, reason ?? ""]
    }

    var text: String {
        FactList([
            ("schedule", id), ("activity", activityID.rawValue), ("kind", kind.rawValue), ("due", dueAt.description),
            ("state", state.rawValue), ("reason", reason),
        ]).text
    }
}

import APITypes
import ActivityModel
import ArgumentParser
import ReportTypes
import TallyClient

struct Users: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Users of an app: what they follow, and all that is stored of them.",
        subcommands: [Show.self, FollowedTopicsCommand.self, Export.self, RevokeTickets.self, Erase.self]
    )

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the devices, topics, cards, starts and activities of a user.",
            discussion: "'tally activities explain ID --device D' tells why a card shows what it shows.",
            examples: "tally users show ada"
        )

        @Argument(help: "The user's id.") var id: Checked<UserID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.user(session.app(), id.value))
        }
    }
}

extension Users {
    struct Erase: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Erase a user: devices, tokens, cards, the story, and every mention in an audience.",
            discussion: "May be repeated. Succeeds also for a user that Tally does not know.",
            examples: "tally users erase ada"
        )

        @Argument(help: "The user's id.") var id: Checked<UserID>
        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let app = try session.app()
            let what = "all that is stored of the user \(id.value) in \(app) at \(session.url)"
            try Confirmation().require(id.value.rawValue, of: what, given: confirmation)
            try await session.client.deleteUser(app, id.value)
            session.show(done: "\(id.value) is erased.")
        }
    }

    struct Export: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print all that Tally stores of a user, as JSON.",
            examples: "tally users export ada"
        )

        @Argument(help: "The user's id.") var id: Checked<UserID>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            Terminal.print(json: try await session.client.exportUser(session.app(), id.value).json)
        }
    }
}

extension UserResource: Presentable {
    var text: String {
        let cardColumns: [Table.Column] = [
            .init(title: "CARD OF"), .init(title: "TYPE", isExtra: true), .init(title: "ACTIVITY IS"),
            .init(title: "DEVICE"), .init(title: "STATE"), .init(title: "REASON", isExtra: true),
            .init(title: "REVISION", isNumber: true),
        ]
        let activityColumns: [Table.Column] = [
            .init(title: "IN THE AUDIENCE OF"), .init(title: "TYPE"), .init(title: "STATE"),
        ]
        let startColumns: [Table.Column] = [
            .init(title: "START OF"), .init(title: "DEVICE"), .init(title: "STATE"),
            .init(title: "REASON", isExtra: true),
        ]
        let tables = [
            Table(columns: DeviceResource.columns, rows: devices.map(\.row)),
            Table(columns: cardColumns, rows: cards.map(\.row)),
            Table(
                columns: startColumns,
                rows: starts.map { [$0.activityID.rawValue, $0.deviceID.rawValue, $0.state.rawValue, $0.reason ?? ""] }
            ),
            Table(
                columns: activityColumns,
                rows: activities.map { [$0.activityID.rawValue, $0.type.rawValue, $0.state.rawValue] }
            ),
        ]
        let shown = tables.filter { !$0.rows.isEmpty }.map { $0.text(width: Terminal.outputWidth) }
        let cut = isTruncated ? ["A list is cut after \(Self.limit) entries."] : []
        let facts = FactList([
            ("user", userID.rawValue),
            ("topics", topics.isEmpty ? nil : topics.map(\.rawValue).joined(separator: " ")),
            ("sent today", "\(sentToday.starts) starts, \(sentToday.pushes) pushes on record"),
        ])
        return ([facts.text] + shown + cut).joined(separator: "\n\n")
    }
}

extension UserCard {
    fileprivate var row: [String] {
        [
            activityID.rawValue, type.rawValue, activityState.rawValue, card.deviceID.rawValue, card.state.rawValue,
            card.reason ?? "", String(card.revision),
        ]
    }
}

import APITypes
import ActivityModel
import ArgumentParser
import TallyClient

struct Halts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sending that stands still because APNs rejected too many tokens.",
        subcommands: [List.self]
    )

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "List halted sending of an app.",
            discussion: "'tally apps resume' resumes it, once the key, host or topic is right.",
            examples: "tally halts list"
        )

        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.halts(of: session.app(), page.request))
        }
    }
}

extension HaltResource: Listable {
    static let columns: [Table.Column] = [
        .init(title: "ENVIRONMENT"), .init(title: "HALTED"), .init(title: "REJECTIONS", isNumber: true),
        .init(title: "ANSWERS", isNumber: true), .init(title: "PROBES", isNumber: true, isExtra: true),
        .init(title: "NEXT PROBE", isExtra: true), .init(title: "RESUMING"),
    ]

    var row: [String] {
        [
            environment.rawValue, haltedAt.inTable, String(rejections), String(answers), String(probes),
            nextProbeAt.inTable, isResuming ? "yes" : "no",
        ]
    }
}

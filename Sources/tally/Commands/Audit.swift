import APITypes
import ActivityModel
import ArgumentParser
import JSON
import ReportTypes
import TallyClient

struct Audit: AppCommand {
    static let configuration = CommandConfiguration(
        abstract: "What operators did: who, what and when.",
        discussion:
            "The newest first. -o wide names the members that changed; --json has their values before and after.",
        examples: "tally audit --since 7d --action type_changed"
    )

    @Option(help: "Only actions of this kind.") var action: AuditAction?
    @Option(help: "Only what was done with this API key; its id.") var keyID: String?
    @Option(help: "Only from then on: RFC 3339, or how long ago, such as 10m.") var since: Checked<PointInTime>?
    @Option(help: "Only until then: RFC 3339, or how long ago.") var until: Checked<PointInTime>?
    @OptionGroup var page: PageOptions
    @OptionGroup var app: AppOption

    func run(_ session: CommandSession) async throws {
        let filter = AuditFilter(
            app: app.app == nil ? nil : try session.app(),
            action: action,
            keyID: keyID,
            since: since?.value.instant(),
            until: until?.value.instant()
        )
        session.show(try await session.client.audit(filter, page.request))
    }
}

extension AuditAction: ExpressibleByArgument {}

extension AuditEntry: Listable {
    static let columns: [Table.Column] = [
        .init(title: "AT"), .init(title: "WHO"), .init(title: "ACTION"), .init(title: "SUBJECT"),
        .init(title: "APP", isExtra: true), .init(title: "CHANGED", isExtra: true),
    ]

    var row: [String] {
        [
            at.inTable, keyName ?? keyID, action, subject,
            bundleID?.rawValue ?? "", changed.joined(separator: ", "),
        ]
    }

    /// The names of the changed members.
    private var changed: [String] {
        let (old, new) = (before?.object ?? JSONObject(), after?.object ?? JSONObject())
        return Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
    }
}

import APITypes
import ActivityModel
import JSON

extension ActivityResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "ACTIVITY"), .init(title: "TYPE", isExtra: true), .init(title: "STATE"),
        .init(title: "DELIVERY", isExtra: true), .init(title: "REVISION", isNumber: true),
        .init(title: "DESTINATIONS", isNumber: true), .init(title: "CURRENT", isNumber: true),
        .init(title: "PENDING", isNumber: true), .init(title: "CREATED", isExtra: true),
    ]

    var row: [String] {
        [
            activityID.rawValue, type.rawValue, state.rawValue, delivery.rawValue, String(revision),
            String(progress.destinations), String(progress.current), String(progress.pending), createdAt.inTable,
        ]
    }

    var text: String {
        FactList(
            [
                ("activity", activityID.rawValue), ("type", type.rawValue), ("environment", environment.rawValue),
                ("state", state.rawValue), ("delivery", delivery.rawValue), ("revision", String(revision)),
                ("timestamp", timestamp.map { "\($0) (\(Instant(unixSeconds: $0)))" } ?? "not stamped yet"),
                ("channel", channel?.text), ("created", createdAt.description), ("starts", startsAt?.description),
                ("started", startedAt?.description), ("ends", endsAt?.description), ("ended", endedAt?.description),
                ("destinations", progress.text), ("starts by push", starts.text),
            ] + schedules.map { ("schedule", "\($0.id) \($0.kind.rawValue) at \($0.dueAt), \($0.state.rawValue)") } + [
                ("attributes", JSONValue.object(attributes).indentedText),
                ("content state", JSONValue.object(contentState).indentedText),
            ]
        ).text
    }
}

extension ChannelReference {
    fileprivate var text: String { "\(id) \(state.rawValue), APNs \(apnsChannelID?.rawValue ?? "not made yet")" }
}

extension DeliveryProgress {
    fileprivate var text: String {
        let others = [
            ("waiting for token", waitingForToken), ("waiting to begin", waitingToBegin), ("dead", dead),
            ("withheld", withheld),
        ]
        return "\(destinations): \(current) current, \(pending) pending" + Count.text(others)
    }
}

extension StartProgress {
    fileprivate var text: String {
        let others = [("unanswered", unanswered), ("repeated", repeated), ("withheld", withheld), ("failed", failed)]
        let reasons = reasons.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        return "\(confirmed) confirmed, \(sent) sent, \(pending) pending" + Count.text(others)
            + (reasons.isEmpty ? "" : " (\(reasons))") + (enrolling ? ", adding phones" : "")
    }
}

private enum Count {
    /// The counts that are not zero.
    static func text(_ counts: [(name: String, count: Int)]) -> String {
        counts.filter { $0.count != 0 }.map { ", \($0.count) \($0.name)" }.joined()
    }
}

extension StartAnswer: Presentable {
    var text: String {
        FactList(
            [("activity", activityID.rawValue), ("state", state.rawValue), ("revision", String(revision))]
                + audience.fieldTexts + [("channel", channel?.text)]
        ).text
    }
}

extension ChangeAnswer: Presentable {
    var text: String {
        switch self {
        case .accepted(let id, let revision, _, unchanged: false): "\(id): revision \(revision) accepted."
        case .accepted(let id, let revision, _, unchanged: true):
            "\(id): equal to revision \(revision), so Tally sends nothing."
        case .scheduled(let scheduleID): "Scheduled: \(scheduleID)."
        }
    }
}

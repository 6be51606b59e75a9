import APITypes
import ActivityModel
import JSON

extension DryRunAnswer: Presentable {
    /// The pushes that would be sent, each with its destinations and its reason.
    var text: String {
        let card = FactList([
            ("dry run", unchanged ? "nothing would be sent: this is how it is already" : "nothing was sent or written"),
            ("activity", activityID.rawValue),
            ("revision", String(revision)),
            ("timestamp", timestamp.map { "\($0) (\(Instant(unixSeconds: $0)))" }),
            ("at", at?.description),
            ("devices", audience.map { String($0.devices) }),
            ("unknown users", audience.flatMap { $0.unknownUsers == 0 ? nil : String($0.unknownUsers) }),
            ("unknown devices", audience.flatMap { $0.unknownDevices == 0 ? nil : String($0.unknownDevices) }),
            ("not sent to", withheldText),
            ("halted", isHalted ? "sending is halted: nothing leaves before a resume (tally doctor)" : nil),
        ]).text
        return ([card] + pushes.map(\.text)).joined(separator: "\n\n")
    }

    private var withheldText: String? {
        guard !withheld.isEmpty else { return nil }
        return withheld.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }
}

extension PlannedPush: Presentable {
    var text: String {
        let budget = budgetClass.map { ", budget of the \($0) class" } ?? ""
        let why = WrappedText.lines(of: "priority \(priority.rawValue): \(explanation)", width: Terminal.textWidth)
        let request = ["POST \(path)"] + headers.entries.map { "\($0.key): \($0.value.string ?? $0.value.text)" }
        return
            (["\(event.rawValue) to \(destinations) \(to.words)\(budget), \(bytes) bytes"] + why
            + request.map { "  " + $0 } + ["", body.indentedText]).joined(separator: "\n")
    }
}

extension PlannedPush.Destination {
    fileprivate var words: String {
        switch self {
        case .startTokens: "start tokens"
        case .updateTokens: "update tokens"
        case .channel: "channel"
        }
    }
}

import APITypes
import ActivityModel
import JSON

/// What a change would send: the size against Apple's limit, the priority and why, and the exact body.
struct DryRunDrawing {
    let answer: DryRunAnswer
    /// What is said if sending is halted.
    let halt: HTML

    var html: HTML {
        let withheld = answer.withheld.sorted { $0.key < $1.key }
        return """
            <section class="plan" aria-label="Dry run"><h2>Dry run</h2>
            \(answer.isHalted ? halt : "")
            \(answer.unchanged ? Parts.note(.warn, "This equals the newest state, so nothing would be sent.") : "")
            \(answer.pushes.isEmpty && !answer.unchanged ? Parts.note(.warn, "Nobody would get a push now.") : "")
            \(withheld.isEmpty ? "" : Parts.note(.warn, "Withheld: \(withheld.map { "\($0.value) \($0.key)" }.joined(separator: ", "))"))
            \(answer.pushes.html(push))</section>
            """
    }

    private func push(_ push: PlannedPush) -> HTML {
        // Apple, "Sending notification requests to APNs" and "Sending channel management requests".
        let limit = push.to == .channel ? 5120 : 4096
        let headers = JSONValue.object(push.headers)
        return """
            <article class="push"><h3>\(push.event.rawValue) to \(Parts.count(push.destinations)) \(push.to.rawValue.replacing("_", with: " "))</h3>
            \(Parts.facts([
                ("Size", "\(Parts.count(push.bytes)) of \(Parts.count(limit)) bytes \(Drawing.gauge(push.bytes, of: limit, label: "Size"))"),
                ("Priority", "<b>\(push.priority.rawValue)</b> \(push.explanation)"),
                ("Budget", HTML(push.budgetClass ?? "none")),
            ]))
            <details><summary>The exact request</summary><pre tabindex="0" role="region" aria-label="Request">POST \(push.path)\n\(Parts.pretty(headers))\n\n\(Parts.pretty(push.body))</pre></details></article>
            """
    }
}

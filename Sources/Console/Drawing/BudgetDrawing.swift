import APITypes
import ActivityModel

/// The budget of each class of phones: the changes that left at priority 10 within the window.
enum BudgetDrawing {
    static func html(_ entries: [TimelineEntry], policy: Policy, now: Instant) -> HTML {
        let window = Int64(policy.budget.windowSeconds)
        let recent = entries.filter { $0.kind == "priority" && $0.at.unixSeconds > now.unixSeconds - window }
        let classes = [
            ("ordinary", policy.budget.ordinary), ("frequent", policy.budget.frequent),
            ("channel", policy.budget.ordinary),
        ]
        let rows = classes.compactMap { name, quota -> HTML? in
            let decisions = recent.filter { $0.budgetClass == name }
            guard let newest = decisions.first else { return nil }
            let spent = decisions.filter { $0.priority == 10 }.count
            return """
                <div class="gauge"><dt>\(name) <small>\(spent) of \(quota) in \(Parts.duration(window))</small></dt>
                <dd>\(Drawing.gauge(spent, of: quota, label: "Budget of the class \(name)"))
                <small>Priority \(newest.priority.map(String.init) ?? "–"): \(newest.explanation ?? newest.text)</small></dd></div>
                """
        }
        if rows.isEmpty {
            return "<p class=\"empty\">No change was sent within \(Parts.duration(window)). The budget is full.</p>"
        }
        return "<dl class=\"gauges\">\(rows)</dl>"
    }
}

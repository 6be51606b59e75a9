import APITypes
import ActivityModel

/// The budget of each class of phones: the changes that left at priority 10 within the window.
enum BudgetDrawing {
    /// - `entries`: the newest ones of the timeline. The newest decision of a class stands there, unless it is older.
    static func html(_ budget: [BudgetUse], _ entries: [TimelineEntry]) -> HTML {
        let rows = budget.map { use -> HTML in
            let newest = entries.first { $0.kind == "priority" && $0.budgetClass == use.budgetClass }
            let why = newest.map { entry -> HTML in
                "<small>Priority \(entry.priority.map(String.init) ?? "–"): \(entry.explanation ?? entry.text)</small>"
            }
            return """
                <div class="gauge"><dt>\(use.budgetClass) <small>\(use.spent) of \(use.units) in \(Parts.duration(Int64(use.windowSeconds)))</small></dt>
                <dd>\(Drawing.gauge(use.spent, of: use.units, label: "Budget of the class \(use.budgetClass)"))
                \(why)</dd></div>
                """
        }
        return rows.isEmpty
            ? "<p class=\"empty\">Nothing was spent within the window. The budget is full.</p>"
            : "<dl class=\"gauges\">\(rows)</dl>"
    }
}

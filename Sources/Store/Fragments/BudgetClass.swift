/// Which phones share a priority-10 budget: all of a class get the same pushes.
package enum BudgetClass: String, Sendable, Hashable {
    case ordinary, frequent, channel
}

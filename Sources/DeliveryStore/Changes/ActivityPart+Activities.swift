package import Store

extension ActivityPart {
    /// Those who are named in the audience of an activity; they go with it.
    package static let audienceMembers = ActivityPart(table: "audience_members", order: "p.kind, p.member_id")

    /// The budgets of an activity, which go with it.
    package static let budgets = ActivityPart(table: "budget_ledger", order: "p.class, p.revision")

    /// The changes of an activity that go before it does. Whatever reads an activity finds its first and its newest
    /// change as long as it is there.
    package static let changes = ActivityPart(
        table: "changes",
        order: "p.revision",
        condition: """
            p.revision > 1
            AND p.revision < (SELECT n.revision FROM activities AS n WHERE n.activity_key = p.activity_key)
            """
    )
}

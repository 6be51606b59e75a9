import ActivityModel
import OrchestratorTestSupport
import Postgres
import Store
import Testing

@Suite("What is routine", .timeLimit(.minutes(2)))
struct RoutineChangeTests {
    @Test("Statements and the rule for priorities say the same of every kind, urgency and alert")
    func sameRule() async throws {
        try await withWorld { world in
            let rows = try await world.database.query(
                """
                SELECT c.kind::text, c.urgency::text, c.alert IS NOT NULL, \(unescaped: PriorityRule.isRoutine("c"))
                FROM unnest(enum_range(NULL::change_kind)) AS k(kind), unnest(enum_range(NULL::urgency)) AS u(urgency),
                     (VALUES (NULL::json), ('{}')) AS a(alert),
                     LATERAL (SELECT k.kind, u.urgency, a.alert) AS c
                """
            )
            let cases = try rows.decoded(as: (String, String, Bool, Bool).self)
            #expect(cases.count == 3 * Urgency.allCases.count * 2)
            for (kind, urgency, hasAlert, isRoutine) in cases {
                let decision = PriorityRule.withoutBudget(
                    kind: try .stored(kind),
                    urgency: try .stored(urgency),
                    hasAlert: hasAlert
                )
                #expect(isRoutine == (decision == PriorityRule.routine), "\(kind), \(urgency), alert: \(hasAlert)")
            }
        }
    }
}

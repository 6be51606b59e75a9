import Postgres
import ReportTypes

extension Examination {
    /// Settings that have to be the same for all daemons, and are not. Nothing is said if they are.
    func settingChecks() async throws -> [DoctorCheck] {
        guard installation else { return [] }
        let rows = try await database.query(
            """
            SELECT e.key, e.value FROM daemons AS d CROSS JOIN LATERAL jsonb_each_text(d.settings) AS e
            WHERE d.settings IS NOT NULL GROUP BY e.key, e.value ORDER BY e.key, e.value
            """,
            timeout: Self.patience
        )
        let values = Dictionary(grouping: try rows.decoded(as: (String, String).self)) { $0.0 }
        return values.sorted { $0.key < $1.key }.compactMap { name, pairs in
            Self.check(of: name, pairs.map { $0.1 })
        }
    }

    /// Compares the different values that daemons have of a setting; nil if there is nothing to say.
    static func check(of name: String, _ values: [String]) -> DoctorCheck? {
        let advice = "Give all daemons the same \(name), and restart those that you change."
        guard name == "TALLY_MASTER_KEY" else {
            guard values.count > 1 else { return nil }
            let finding = "The daemons do not have the same \(name): \(values.joined(separator: ", "))."
            return DoctorCheck("daemon_settings", of: name, .warning, finding, advice: advice)
        }
        // While the key is being replaced, some daemons have one more than others.
        let keys = values.map { Set($0.split(separator: " ")) }
        let isShared = keys.allSatisfy { some in keys.allSatisfy { !some.isDisjoint(with: $0) } }
        guard !isShared else { return nil }
        let finding = "Two daemons have no TALLY_MASTER_KEY in common. Each sends only for apps whose keys it opens."
        return DoctorCheck("daemon_settings", of: name, .broken, finding, advice: advice)
    }
}

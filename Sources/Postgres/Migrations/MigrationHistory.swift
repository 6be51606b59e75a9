/// A row of `schema_migrations`: an applied migration.
struct AppliedMigration: Sendable, Hashable {
    let number: Int
    let name: String
    let version: Int
    let compatibleFrom: Int
    let checksum: [UInt8]
}

/// Compares the applied migrations with those of this program. It is pure.
struct MigrationHistory: Sendable {
    /// In order of their numbers.
    let known: [Migration]
    let applied: [AppliedMigration]

    /// The schema version that this program is written for.
    var programVersion: Int { known.map(\.version).max() ?? 0 }

    /// The migrations to apply, in order.
    ///
    /// - Throws: The reason why no migration may be applied.
    func pending() throws(MigrationError) -> [Migration] {
        let byNumber = Dictionary(applied.map { ($0.number, $0) }) { first, _ in first }
        if let first = known.first, let row = byNumber[first.number], row.name != first.name {
            throw MigrationError(
                .beforeBaseline,
                """
                the database was made by another version of Tally, which began with migration \(row.number) (\(row.name)), \
                and this one cannot upgrade it: create an empty database, name it in TALLY_DATABASE_URL, and run \
                `tallyd migrate`
                """
            )
        }
        for migration in known {
            guard let row = byNumber[migration.number], row.checksum != migration.checksum else { continue }
            throw MigrationError(
                .checksumMismatch,
                "migration \(migration.number) (\(migration.name)) was applied from another text than this program has"
            )
        }
        // The strictest applied migration counts. A later one cannot relax it.
        if let strictest = applied.max(by: { $0.compatibleFrom < $1.compatibleFrom }),
            strictest.compatibleFrom > programVersion
        {
            throw MigrationError(
                .databaseTooNew,
                """
                the database has migration \(strictest.number) (\(strictest.name)), which needs a program of schema version \
                \(strictest.compatibleFrom) or later; this one has \(programVersion)
                """
            )
        }
        let pending = known.filter { byNumber[$0.number] == nil }
        if let first = pending.first, let later = applied.first(where: { $0.number > first.number }) {
            throw MigrationError(
                .outOfOrder,
                "migration \(later.number) was applied, but migration \(first.number) (\(first.name)) was not"
            )
        }
        return pending
    }

    /// Checks whether this program can work with the database.
    func check() throws(MigrationError) {
        guard let first = try pending().first else { return }
        throw MigrationError(
            .databaseTooOld,
            "the database lacks migration \(first.number) (\(first.name)): run `tallyd migrate`"
        )
    }
}

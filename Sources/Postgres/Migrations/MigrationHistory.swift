/// A row of `schema_migrations`: what was applied.
struct AppliedMigration: Sendable, Hashable {
    let number: Int
    let name: String
    let version: Int
    let compatibleFrom: Int
    let checksum: [UInt8]
}

/// Compares what was applied with what this program knows. Pure.
struct MigrationHistory: Sendable {
    /// In order of their numbers.
    let known: [Migration]
    let applied: [AppliedMigration]

    /// The schema version that this program is written for.
    var programVersion: Int { known.map(\.version).max() ?? 0 }

    /// What is still to be applied, in order.
    ///
    /// - Throws: whatever forbids to go on from here.
    func pending() throws(MigrationError) -> [Migration] {
        let byNumber = Dictionary(applied.map { ($0.number, $0) }) { first, _ in first }
        for migration in known {
            guard let row = byNumber[migration.number], row.checksum != migration.checksum else { continue }
            throw MigrationError(
                .checksumMismatch,
                "migration \(migration.number) (\(migration.name)) was applied from another text than this program has"
            )
        }
        // What one migration has made impossible stays so, whatever a later one says of itself.
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

    /// Whether this program can work with the database.
    func check() throws(MigrationError) {
        guard let first = try pending().first else { return }
        throw MigrationError(
            .databaseTooOld,
            "the database lacks migration \(first.number) (\(first.name)): run `tallyd migrate`"
        )
    }
}

import Testing

@testable import Postgres

@Suite("Which program may work with which schema")
struct MigrationHistoryTests {
    private func history(_ known: [Migration], applied: [Migration]) -> MigrationHistory {
        MigrationHistory(
            known: known,
            applied: applied.map {
                AppliedMigration(
                    number: $0.number,
                    name: $0.name,
                    version: $0.version,
                    compatibleFrom: $0.compatibleFrom,
                    checksum: $0.checksum
                )
            }
        )
    }

    struct Verdict: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let applied: [(number: Int, compatibleFrom: Int)]
        let known: [Int]
        let code: MigrationError.Code?
    }

    static let verdicts = [
        Verdict(testDescription: "nothing applied", applied: [], known: [1], code: .databaseTooOld),
        Verdict(testDescription: "one missing", applied: [(1, 1)], known: [1, 2], code: .databaseTooOld),
        Verdict(testDescription: "all there", applied: [(1, 1), (2, 2)], known: [1, 2], code: nil),
        Verdict(testDescription: "newer and compatible", applied: [(1, 1), (2, 1)], known: [1], code: nil),
        Verdict(
            testDescription: "not compatible, whatever a later one says",
            applied: [(1, 1), (2, 2), (3, 1)],
            known: [1],
            code: .databaseTooNew
        ),
        Verdict(
            testDescription: "newer and not compatible",
            applied: [(1, 1), (2, 2)],
            known: [1],
            code: .databaseTooNew
        ),
        Verdict(
            testDescription: "compatible with the one between",
            applied: [(1, 1), (2, 2), (3, 2)],
            known: [1, 2],
            code: nil
        ),
    ]

    @Test("A program starts only on a schema that it can work with", arguments: verdicts)
    func check(_ verdict: Verdict) throws {
        let applied = try verdict.applied.map { try migration($0.number, compatibleFrom: $0.compatibleFrom) }
        let known = try verdict.known.map { number in
            let same = verdict.applied.first { $0.number == number }
            return try migration(number, compatibleFrom: same?.compatibleFrom ?? 1)
        }
        let history = history(known, applied: applied)
        guard let code = verdict.code else { return try history.check() }
        let error = #expect(throws: MigrationError.self) { try history.check() }
        #expect(error?.code == code)
        if code == .databaseTooNew {
            // A program that is too old must not touch the schema either.
            #expect(throws: MigrationError.self) { try history.pending() }
        }
    }

    @Test("A migration whose text has changed since it was applied is refused")
    func checksum() throws {
        let edited = history([try migration(1, "SELECT 2;")], applied: [try migration(1, "SELECT 1;")])
        let error = #expect(throws: MigrationError.self) { try edited.pending() }
        #expect(error?.code == .checksumMismatch)
    }

    @Test("A database from before the baseline is refused, with a message that says what to do")
    func beforeBaseline() throws {
        let first = try migration(1)
        // Its text may be the same; the name tells it from a migration that was edited.
        let baseline = try Migration(number: 1, name: "registry", sql: Array(first.sql.utf8))
        let error = #expect(throws: MigrationError.self) {
            try history([baseline], applied: [first, try migration(2)]).pending()
        }
        #expect(error?.code == .beforeBaseline)
        #expect(error?.message.contains("create an empty database") == true)
    }
}

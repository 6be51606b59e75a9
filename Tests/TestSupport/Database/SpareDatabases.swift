import Postgres
import Synchronization

/// Databases that tests have given back, empty, for the next test that wants one of the same migrations.
///
/// To make a database and to drop it takes several times as long as to empty it, and longer than most tests.
final class SpareDatabases: Sendable {
    private let names = Mutex<[String: [String]]>([:])

    /// One that was made of a template; nil if there is none.
    func take(of template: String) -> String? {
        names.withLock { $0[template]?.popLast() }
    }

    /// Keeps one for the next test.
    func keep(_ name: String, of template: String) {
        names.withLock { $0[template, default: []].append(name) }
    }
}

/// What tells whether a database is as its template is, but for rows.
struct DatabaseFingerprint: Hashable, Sendable {
    private let text: String

    /// Reads that of a database. Migrations are among it, and what steers plans: statistics, and how many rows a table
    /// is believed to have.
    init(of database: Database) async throws {
        let rows = try await database.query(
            """
            SELECT md5(string_agg(fact, ',' ORDER BY fact)) || coalesce(CASE
                WHEN to_regclass('schema_migrations') IS NOT NULL
                THEN query_to_xml('TABLE schema_migrations', true, false, '')::text END, '')
            FROM (
                SELECT format('class %s %s %s %s %s', c.oid, c.relname, c.relkind, c.reloptions,
                              CASE c.relkind WHEN 'r' THEN c.reltuples END) AS fact
                FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                WHERE n.nspname NOT LIKE 'pg\\_%' AND c.relname <> 'schema_migrations'
                UNION ALL
                SELECT format('column %s %s %s %s %s', a.attrelid, a.attname, a.atttypid, a.attnotnull, a.atthasdef)
                FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
                WHERE c.relnamespace = 'public'::regnamespace
                UNION ALL
                SELECT format('constraint %s %s %s', oid, conname, convalidated) FROM pg_constraint
                UNION ALL
                SELECT format('trigger %s %s %s', oid, tgname, tgenabled) FROM pg_trigger
                UNION ALL
                SELECT format('function %s %s', oid, proname) FROM pg_proc
                WHERE pronamespace = 'public'::regnamespace
                UNION ALL
                SELECT format('schema %s', nspname) FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'
                UNION ALL
                SELECT format('statistics %s', s.starelid) FROM pg_statistic AS s JOIN pg_class AS c ON c.oid = s.starelid
                WHERE c.relnamespace = 'public'::regnamespace
                UNION ALL
                SELECT format('settings %s', s.setconfig) FROM pg_db_role_setting AS s JOIN pg_database AS d ON d.oid = s.setdatabase
                WHERE d.datname = current_database()
                UNION ALL
                SELECT 'prepared' FROM pg_prepared_xacts WHERE database = current_database()
            ) AS facts
            """
        )
        text = try rows.first(as: String?.self).flatMap { $0 } ?? ""
    }
}

extension Database {
    /// Removes all rows, and lets all sequences begin anew.
    ///
    /// - Returns: False if somebody else is connected: a test has left something running, which is not to meet another
    ///   test.
    func empty() async throws -> Bool {
        let others = try await query(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
            """
        )
        guard try others.first(as: Int.self) == 0 else { return false }
        _ = try await execute(
            """
            DO $$
            DECLARE filled text;
            BEGIN
                SELECT string_agg(c.oid::regclass::text, ', ') INTO filled FROM pg_class AS c
                WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'schema_migrations'
                  AND pg_relation_size(c.oid) > 0;
                IF filled IS NOT NULL THEN EXECUTE 'TRUNCATE ' || filled || ' CASCADE'; END IF;
                PERFORM setval(seqrelid::regclass, seqstart, false) FROM pg_sequence;
            END $$
            """
        )
        return true
    }
}

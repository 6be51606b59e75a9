import Logging
package import Postgres

/// The time of a database in tests: it stands still until the test moves it.
///
/// The daemons' SQL is the real one. In their sessions the schema `sim` comes before `pg_catalog`, so that `now()`,
/// `clock_timestamp()` and `gen_random_uuid()` are found there first; columns' defaults are pointed to it once.
package struct VirtualClock: Sendable {
    package let database: Database

    /// Where every run of the simulation begins: 2026-06-11 16:00:00 UTC.
    package static let beginning: Int64 = 1_781_193_600_000

    /// What a daemon's connection string has to end with.
    ///
    /// Plans depend on nothing but the statement: neither on the values nor on how full the tables are just then, else
    /// one seed would not be one order of rows. They are kept as long as the connection.
    private static let sessionOptions =
        "?options=-csearch_path%3Dsim%2Cpg_catalog%2Cpublic%20-cplan_cache_mode%3Dforce_generic_plan"
        + "%20-cenable_seqscan%3Doff%20-cjit%3Doff"

    /// Lends a database that has such a clock, and connections to it for daemons.
    ///
    /// - Parameters:
    ///   - migrations: As in ``withDatabase(migrations:configuration:_:)``.
    ///   - connections: The most for the daemons.
    ///   - explains: Whether the server logs the plan of each statement of the daemons (``StatementPlan``).
    ///   - body: Gets both, for as long as it runs.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, or what went wrong with the server.
    package static func lend<R>(
        migrations: [Migration],
        connections: Int,
        explains: Bool = false,
        _ body: (VirtualClock, Database) async throws -> R
    ) async throws -> R {
        try await withDatabase(migrations: migrations) { database in
            let clock = VirtualClock(database: database)
            try await clock.install()
            // The server takes its tables for tiny ones then, which is where plans for tiny tables come from.
            if explains { try await database.execute("VACUUM (ANALYZE)") }
            let name = try await database.query("SELECT current_database()::text").first(as: String.self) ?? ""
            var configuration = Database.Configuration.patient
            configuration.maximumConnections = connections
            let daemons = try await Database(
                url: TestCluster.shared.url(database: name) + sessionOptions
                    + (explains ? StatementPlan.sessionOptions : ""),
                configuration: configuration,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let result: Result<R, any Error>
            do {
                result = .success(try await body(clock, daemons))
            } catch {
                result = .failure(error)
            }
            await daemons.shutDown()
            return try result.get()
        }
    }

    /// Makes the clock in a database that has its tables, and lets nothing but a life change what those hold.
    private func install() async throws {
        try await database.withConnection { connection in
            try await connection.executeScript(
                """
                CREATE SCHEMA sim;
                CREATE TABLE sim.clock (at timestamptz NOT NULL);
                INSERT INTO sim.clock VALUES (to_timestamp(0));
                CREATE SEQUENCE sim.uuids;
                CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM sim.clock';
                CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM sim.clock';
                CREATE FUNCTION sim.gen_random_uuid() RETURNS uuid LANGUAGE sql VOLATILE
                    AS $$ SELECT md5(nextval('sim.uuids')::text)::uuid $$;
                DO $$
                DECLARE line record;
                BEGIN
                    FOR line IN
                        SELECT table_name, column_name, column_default FROM information_schema.columns
                        WHERE table_schema = 'public' AND column_default ~ '(now|clock_timestamp|gen_random_uuid)\\(\\)'
                    LOOP
                        EXECUTE format('ALTER TABLE public.%I ALTER COLUMN %I SET DEFAULT %s', line.table_name,
                            line.column_name, regexp_replace(line.column_default, '(pg_catalog\\.)?(now|clock_timestamp|gen_random_uuid)\\(\\)', 'sim.\\2()'));
                    END LOOP;
                END $$;
                DO $$
                DECLARE name regclass;
                BEGIN
                    FOR name IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' LOOP
                        EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', name);
                    END LOOP;
                END $$;
                """
            )
        }
    }

    /// Empties the tables as if they were new, and sets the clock.
    package func reset(to milliseconds: Int64 = beginning) async throws {
        try await database.withConnection { connection in
            try await connection.executeScript(
                """
                DO $$
                DECLARE tables text;
                BEGIN
                    SELECT string_agg(format('public.%I', c.relname), ', ') INTO tables
                    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                      AND c.relname <> 'schema_migrations';
                    EXECUTE 'TRUNCATE ' || tables || ' RESTART IDENTITY CASCADE';
                END $$;
                ALTER SEQUENCE sim.uuids RESTART;
                """
            )
        }
        try await set(milliseconds)
    }

    /// Removes all rows, and sets the clock. It takes a fraction of the time of ``reset(to:)``, and connections keep their
    /// plans. But the rows still take up space.
    package func clear(to milliseconds: Int64) async throws {
        try await database.withConnection { connection in
            try await connection.executeScript(
                """
                DO $$
                DECLARE name regclass;
                BEGIN
                    -- Foreign keys are not checked: nothing is left.
                    SET LOCAL session_replication_role = replica;
                    FOR name IN
                        SELECT oid FROM pg_class
                        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'schema_migrations'
                          AND pg_relation_size(oid) > 0
                    LOOP
                        EXECUTE format('DELETE FROM %s', name);
                    END LOOP;
                END $$;
                """
            )
        }
        try await set(milliseconds)
    }

    /// Sets the clock, in milliseconds since 1970.
    package func set(_ milliseconds: Int64) async throws {
        try await database.execute("UPDATE sim.clock SET at = to_timestamp(\(milliseconds)::float8 / 1000)")
    }
}

/// The prototype's own schema. Nothing of the product reads or writes it.
package enum Tables {
    package static let script = """
        DROP SCHEMA IF EXISTS prototype CASCADE;
        CREATE SCHEMA prototype;
        CREATE SEQUENCE prototype.daemon_numbers;
        CREATE TABLE prototype.daemons (
            daemon      bigint PRIMARY KEY,
            lease_until timestamptz NOT NULL
        ) WITH (fillfactor = 50);
        CREATE TABLE prototype.partitions (
            partition smallint PRIMARY KEY,
            owner     bigint,
            epoch     bigint NOT NULL DEFAULT 0
        ) WITH (fillfactor = 50);
        COMMENT ON TABLE prototype.partitions IS
            'An owner counts while its row in daemons exists. Write transactions of the owner lock the row FOR SHARE.';
        CREATE TABLE prototype.progress (
            partition smallint PRIMARY KEY,
            done      xid8 NOT NULL DEFAULT '0'
        ) WITH (fillfactor = 50);
        COMMENT ON COLUMN prototype.progress.done IS
            'Every change of an older transaction is recorded. A new owner reads the log from here.';
        INSERT INTO prototype.partitions (partition) SELECT generate_series(0, 63);
        INSERT INTO prototype.progress (partition) SELECT generate_series(0, 63);
        CREATE TABLE prototype.types (
            type_key   integer PRIMARY KEY,
            generation integer NOT NULL DEFAULT 1
        );
        COMMENT ON COLUMN prototype.types.generation IS
            'Grows with every change of schemas or policy. A change that was judged by an older one is judged again.';
        INSERT INTO prototype.types VALUES (1);
        CREATE TABLE prototype.activities (
            activity_key  bigint PRIMARY KEY,
            activity_id   text NOT NULL UNIQUE,
            partition     smallint NOT NULL,
            type_key      integer NOT NULL,
            audience      text NOT NULL CHECK (audience IN ('cards', 'ring', 'channel')),
            channel_id    text,
            sent_revision bigint NOT NULL DEFAULT 0,
            accepted      bigint NOT NULL DEFAULT 0
        ) WITH (fillfactor = 50);
        COMMENT ON COLUMN prototype.activities.sent_revision IS
            'Written by the owner, in batches. The newest revision itself is in the log.';
        CREATE TABLE prototype.changes (
            activity_key bigint NOT NULL,
            revision     bigint NOT NULL,
            partition    smallint NOT NULL,
            is_end       boolean NOT NULL,
            stamp        bigint NOT NULL,
            accepted_by  bigint NOT NULL,
            transaction  xid8 NOT NULL,
            content      json NOT NULL,
            PRIMARY KEY (activity_key, revision)
        );
        COMMENT ON TABLE prototype.changes IS 'The log. Its primary key is the guard of every accept.';
        CREATE INDEX changes_tail ON prototype.changes (transaction);
        CREATE TABLE prototype.cards (
            activity_key    bigint NOT NULL,
            device_key      bigint NOT NULL,
            token           bytea NOT NULL,
            is_dead         boolean NOT NULL DEFAULT false,
            behind_revision bigint,
            PRIMARY KEY (activity_key, device_key)
        );
        CREATE TABLE prototype.rings (
            activity_key bigint PRIMARY KEY,
            cursor       bigint NOT NULL DEFAULT 0,
            completed    bigint NOT NULL DEFAULT 0,
            lap_revision bigint,
            lap_origin   bigint
        ) WITH (fillfactor = 50);
        """
}

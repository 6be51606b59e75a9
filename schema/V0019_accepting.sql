-- version: 19
-- compatible_from: 19

-- What an accepted change touches ----------------------------------------------------------------------------------

-- Every change updates a row of both. Where its page has room, the new version of the row stays there, and no index learns
-- of it.
ALTER TABLE activities SET (fillfactor = 60);
ALTER TABLE segments SET (fillfactor = 50);

-- Whoever writes a change holds the row of its activity: there is no need to look, and lock, once more for each.
ALTER TABLE changes DROP CONSTRAINT changes_activity_key_fkey;
CREATE FUNCTION delete_changes_of_activities() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM changes AS c USING gone WHERE c.activity_key = gone.activity_key;
    RETURN NULL;
END
$$;
CREATE TRIGGER activities_delete_changes AFTER DELETE ON activities REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION delete_changes_of_activities();
COMMENT ON COLUMN changes.activity_key IS
    'Of activities. Not a foreign key: whoever inserts a change holds that row, and a trigger deletes the changes with it.';

-- A key and all that its meaning depends on as one hash: four texts made the widest index of all that a change touches.
ALTER TABLE idempotency_keys ADD COLUMN scope bytea CHECK (length(scope) = 32);
UPDATE idempotency_keys
SET scope = sha256(convert_to(api_key_id || E'\n' || method || E'\n' || path || E'\n' || key, 'UTF8'));
ALTER TABLE idempotency_keys
    DROP CONSTRAINT idempotency_keys_pkey,
    DROP COLUMN api_key_id, DROP COLUMN method, DROP COLUMN path, DROP COLUMN key,
    ADD PRIMARY KEY (scope);
COMMENT ON COLUMN idempotency_keys.scope IS
    'SHA-256 of the id of the API key, the method, the path and the key, with line feeds between them.';

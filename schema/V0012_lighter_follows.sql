-- version: 7
-- compatible_from: 6

-- The report of a new device writes a row for each of its topics. Two foreign keys looked up the app and the device once more
-- for every row, which cost more than the row. The device is locked while its topics are written. So its follows go by a
-- trigger, as they went by the foreign key.

-- Dropping a foreign key locks all three tables. Whoever has one of them already and waits for another must not wait for ever:
-- the locks are taken together, or given up after a moment and taken again. The moment is longer than the second after which the
-- server ends a vacuum that is in the way.
DO $$
BEGIN
    PERFORM set_config('lock_timeout', '1500ms', true);
    LOOP
        BEGIN
            LOCK TABLE topic_follows, devices, apps IN ACCESS EXCLUSIVE MODE;
            EXIT;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            PERFORM pg_sleep(1);
        END;
    END LOOP;
END
$$;

ALTER TABLE topic_follows
    DROP CONSTRAINT topic_follows_device_key_fkey,
    DROP CONSTRAINT topic_follows_bundle_id_fkey,
    DROP CONSTRAINT topic_follows_pkey;
ALTER TABLE topic_follows ADD CONSTRAINT topic_follows_pkey PRIMARY KEY USING INDEX topic_follows_counted;

CREATE FUNCTION forget_follows() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_TABLE_NAME = 'devices' THEN
        DELETE FROM topic_follows WHERE device_key = OLD.device_key;
    ELSE
        DELETE FROM topic_follows WHERE bundle_id = OLD.bundle_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER devices_forget_follows AFTER DELETE ON devices FOR EACH ROW EXECUTE FUNCTION forget_follows();
CREATE TRIGGER apps_forget_follows AFTER DELETE ON apps FOR EACH ROW EXECUTE FUNCTION forget_follows();

-- A user has no row of its own that could be locked. So the app is.
CREATE FUNCTION hold_app_of_follow() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM apps WHERE bundle_id = NEW.bundle_id FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = 'topic_follows names an app that does not exist';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER topic_follows_hold_app BEFORE INSERT ON topic_follows
    FOR EACH ROW WHEN (NEW.user_id IS NOT NULL) EXECUTE FUNCTION hold_app_of_follow();

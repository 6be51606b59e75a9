-- version: 9
-- compatible_from: 6

-- Each daemon tells the settings that have to be the same for all, so that the doctor can compare them.

ALTER TABLE daemons ADD COLUMN settings jsonb;
COMMENT ON COLUMN daemons.settings IS
    'Settings that have to be the same for all daemons, by name. Of the master keys only fingerprints. Null: an older program.';

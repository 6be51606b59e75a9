-- version: 27
-- compatible_from: 19

-- Installations of one app on one device ------------------------------------------------------------------------------

ALTER TABLE devices
    ADD COLUMN installation text,
    ADD COLUMN earlier_installations text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN devices.installation IS
    'The app''s own name of the installation that generations count in; null until the app reports one.';
COMMENT ON COLUMN devices.earlier_installations IS
    'Installations that were replaced, the newest first, a few of them: their late reports are stale (promise 7).';

-- The alert of starts that leave later --------------------------------------------------------------------------------

ALTER TABLE activities ADD COLUMN start_alert json;
COMMENT ON COLUMN activities.start_alert IS
    'The alert that came with an audience after the start; starts that leave from then on tell it. Null: they tell the alert of change 1.';

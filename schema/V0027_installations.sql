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

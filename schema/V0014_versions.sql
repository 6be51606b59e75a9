-- version: 14
-- compatible_from: 14

-- Versions: which app versions follow an activity, and what they can decode (promise 8) ---------------------------

ALTER TABLE type_versions ADD COLUMN retired_at timestamptz;
COMMENT ON COLUMN type_versions.retired_at IS
    'Since when an operator has given up the phones that decode nothing newer: content that they cannot decode is withheld from them instead of refused.';

CREATE TABLE activity_app_versions (
    activity_key bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    app_version  text NOT NULL,
    is_withheld  boolean NOT NULL,
    decodes_from bigint NOT NULL CHECK (decodes_from > 0),
    is_settled   boolean NOT NULL DEFAULT true,
    PRIMARY KEY (activity_key, app_version)
);
COMMENT ON TABLE activity_app_versions IS
    'What the newest state of an activity is to the apps that follow it. Rows are made under a lock of the activity, and changed under that or the type''s; whoever gives a card to a ring holds the row. So none is ever sent what it cannot decode.';
COMMENT ON COLUMN activity_app_versions.app_version IS 'As the devices report it; empty for those that do not.';
COMMENT ON COLUMN activity_app_versions.is_withheld IS
    'Apps of this version cannot decode the newest state, so it is not sent to them. Else every new state must be such that they can.';
COMMENT ON COLUMN activity_app_versions.decodes_from IS 'While not withheld: they can decode every revision since this one.';
COMMENT ON COLUMN activity_app_versions.is_settled IS 'The rows of the cards say the same; if not, a worker sees to it before it sends anything.';
CREATE INDEX activity_app_versions_unsettled ON activity_app_versions (activity_key) WHERE NOT is_settled;

-- Which app versions there are is asked when an audience is everybody.
CREATE INDEX devices_by_app_version ON devices (bundle_id, environment, app_version);

-- What runs now was accepted by the newest version; what its phones cannot decode is refused from here on.
INSERT INTO activity_app_versions (activity_key, app_version, is_withheld, decodes_from)
SELECT DISTINCT a.activity_key, coalesce(d.app_version, ''), false, a.revision
FROM activities AS a JOIN subscriptions AS s USING (activity_key) JOIN devices AS d USING (device_key)
WHERE a.state = 'live' AND s.mode = 'token' AND s.state NOT IN ('over', 'dead');

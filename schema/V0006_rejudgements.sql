-- version: 2
-- compatible_from: 1

-- Types whose versions have changed, until all their activities are judged by the new ones.

CREATE TABLE rejudgements (
    bundle_id text NOT NULL,
    type_name text NOT NULL,
    after_id  text NOT NULL DEFAULT '',
    PRIMARY KEY (bundle_id, type_name),
    FOREIGN KEY (bundle_id, type_name) REFERENCES activity_types ON DELETE CASCADE
);
COMMENT ON TABLE rejudgements IS
    'The versions of a type have changed. A daemon judges the newest states of its activities by the new ones, some activities in a transaction, and then deletes the row.';
COMMENT ON COLUMN rejudgements.after_id IS 'Activities up to this id are judged. Another change begins anew.';

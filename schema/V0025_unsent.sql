-- version: 25
-- compatible_from: 19

-- What was passed and nobody was sent ---------------------------------------------------------------------------------

ALTER TABLE segments ADD COLUMN unsent_after bigint;
COMMENT ON COLUMN segments.unsent_after IS
    'The walk has begun newer revisions than this, and nobody was sent them: nobody rides, or nobody was reached. They are merged into what somebody is sent next. Null if somebody was sent the last one, or there was nobody to be sent anything.';
COMMENT ON COLUMN changes.is_sent IS
    'It is on record that APNs has accepted an update with it, or may have: so it is not merged. Of what small rings have sent it is not.';
COMMENT ON COLUMN changes.merged_into IS
    'The revision that was sent in its stead, if it was replaced before APNs had accepted an update with it.';

-- version: 25
-- compatible_from: 19

-- What a ring has passed without a push -------------------------------------------------------------------------------

ALTER TABLE segments ADD COLUMN unsent_after bigint;
COMMENT ON COLUMN segments.unsent_after IS
    'The walk has begun newer revisions than this, and nothing of them has left: nobody rides. Whoever is sent a newer one has them merged into it. Null if something of the last one has left.';
COMMENT ON COLUMN changes.is_sent IS
    'It is on record that updates with it have left: so it is not merged by a walk that jumps over it. Of what small rings have sent it is not.';

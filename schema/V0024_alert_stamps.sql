-- version: 24
-- compatible_from: 19

-- Under which timestamp an alert was told -------------------------------------------------------------------------------

COMMENT ON COLUMN segments.alert_stamp IS
    'The timestamp under which an alert was last broadcast, or sent to cards of the ring. Who is sent that state again without the alert gets it under another.';

-- version: 28
-- compatible_from: 19

-- A migration of its own: requests read activities and devices in one statement, and in any order.

-- The alert of starts that leave later --------------------------------------------------------------------------------

ALTER TABLE activities ADD COLUMN start_alert json;
COMMENT ON COLUMN activities.start_alert IS
    'The alert that came with an audience after the start; starts that leave from then on tell it. Null: they tell the alert of change 1.';

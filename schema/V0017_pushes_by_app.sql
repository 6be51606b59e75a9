-- version: 9
-- compatible_from: 6

-- While an app is silent, the others' pushes are read app by app. The end of a halt and the deletion of an app read by it, too.
-- New pushes wait while this reads all waiting ones once.

CREATE INDEX pushes_by_app ON pushes (bundle_id, environment, due_at);

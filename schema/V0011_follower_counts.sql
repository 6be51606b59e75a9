-- version: 7
-- compatible_from: 6

-- Counting the followers of topics reads this index alone. It takes the place of the primary key in the next migration. Meanwhile
-- changes of topics wait, and nothing else does.

CREATE UNIQUE INDEX topic_follows_counted ON topic_follows (bundle_id, topic, follow_key) INCLUDE (device_key);

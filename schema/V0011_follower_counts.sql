-- version: 7
-- compatible_from: 6

-- Counting the followers of topics reads this index alone.

ALTER TABLE topic_follows DROP CONSTRAINT topic_follows_pkey;
ALTER TABLE topic_follows
    ADD CONSTRAINT topic_follows_pkey PRIMARY KEY (bundle_id, topic, follow_key) INCLUDE (device_key);

-- version: 18
-- compatible_from: 16

-- Activities by their end, for whoever deletes them when their time is over ----------------------------------------

CREATE INDEX activities_by_end ON activities (ended_at, activity_key) WHERE ended_at IS NOT NULL;

-- version: 20
-- compatible_from: 19

-- Activities by the ids of their callers ----------------------------------------------------------------------------

-- The type comes first: an index that begins with the app, as that of the ids does, looked as good for a look-up by id as long
-- as nobody had counted how many activities an app has, and the plan that was made then read all of them.
DROP INDEX activities_by_type;
CREATE INDEX activities_by_type ON activities (type_name, bundle_id, activity_key);

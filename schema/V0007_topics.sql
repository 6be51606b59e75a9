-- version: 3
-- compatible_from: 1

-- Who follows which topics, and which topics an audience names.

CREATE TABLE topic_follows (
    bundle_id  text NOT NULL REFERENCES apps ON DELETE CASCADE,
    topic      text NOT NULL,
    follow_key bigint GENERATED ALWAYS AS IDENTITY,
    user_id    text,
    device_key bigint REFERENCES devices ON DELETE CASCADE,
    PRIMARY KEY (bundle_id, topic, follow_key),
    CHECK (num_nonnulls(user_id, device_key) = 1)
);
COMMENT ON TABLE topic_follows IS
    'One topic that a user or a device follows. All devices of a user follow the topics of the user, too.';
COMMENT ON COLUMN topic_follows.follow_key IS 'The order in which an enrolment reads the followers of a topic.';
COMMENT ON COLUMN topic_follows.user_id IS 'The follower. A user may follow topics before the first device registers.';
COMMENT ON COLUMN topic_follows.device_key IS 'The follower, if it is a single device.';
CREATE UNIQUE INDEX topic_follows_of_users ON topic_follows (bundle_id, user_id, topic) WHERE user_id IS NOT NULL;
CREATE UNIQUE INDEX topic_follows_of_devices ON topic_follows (device_key, topic) WHERE device_key IS NOT NULL;

CREATE TABLE audience_topics (
    activity_key  bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    topic         text NOT NULL,
    bundle_id     text NOT NULL,
    topics_all    text[] NOT NULL DEFAULT '{}',
    except_topics text[] NOT NULL DEFAULT '{}',
    rule_key      bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (activity_key, topic)
);
COMMENT ON TABLE audience_topics IS
    'The topics of an audience, few for each activity. The rule stands until the end: whoever follows later is started, too.';
COMMENT ON COLUMN audience_topics.topics_all IS 'Followers must follow all of these as well.';
COMMENT ON COLUMN audience_topics.except_topics IS 'Followers of one of these do not belong to the audience.';
COMMENT ON COLUMN audience_topics.rule_key IS
    'The order in which topics are enrolled. A rule that changes gets a new key, so its followers are enrolled again.';
CREATE INDEX audience_topics_by_topic ON audience_topics (bundle_id, topic);

ALTER TABLE activities
    ADD COLUMN enrolled_rule bigint NOT NULL DEFAULT 0,
    ADD COLUMN enrolled_follow bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN activities.enrolled_rule IS
    'The topics with smaller keys have been turned into starts. The one with this key is under way.';
COMMENT ON COLUMN activities.enrolled_follow IS 'How far the topic that is under way has been turned into starts.';

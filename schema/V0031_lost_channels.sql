-- version: 31
-- compatible_from: 19

-- Cards of a lost channel, ended a batch at a time --------------------------------------------------------------------

ALTER TABLE channels ADD COLUMN ended_through bigint;
COMMENT ON COLUMN channels.ended_through IS
    'The channel is lost, and of the cards that listened to it those up to this device are over. Null: all are, or none has to be.';
CREATE INDEX channels_ending_cards ON channels (channel_id) WHERE ended_through IS NOT NULL;

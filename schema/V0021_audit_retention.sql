-- version: 21
-- compatible_from: 19

-- Entries of one action by their age: who issued tickets is forgotten long before what operators did -----------------

CREATE INDEX audit_log_by_action ON audit_log (action, entry_id);

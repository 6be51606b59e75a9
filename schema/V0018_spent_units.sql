-- version: 9
-- compatible_from: 6

-- A decision about a priority counts the units of the window, however many were spent before. Other decisions wait while this
-- reads the table once.

CREATE INDEX budget_ledger_spent ON budget_ledger (activity_key, class, decided_at) WHERE priority = 10;

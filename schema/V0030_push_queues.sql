-- version: 30
-- compatible_from: 19

-- A queue of ordinary pushes for each environment ---------------------------------------------------------------------

-- Else who looks for work in the one reads past all that is due in the other.
DROP INDEX pushes_due;
CREATE INDEX pushes_due ON pushes (environment, due_at);

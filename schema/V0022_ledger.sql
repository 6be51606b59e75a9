-- version: 22
-- compatible_from: 19

-- What the ledger holds ----------------------------------------------------------------------------------------------

COMMENT ON TABLE budget_ledger IS
    'Priority given to a revision per class, and why, where the budget had a say in it or is less for it; rows of priority 10 are what was spent (promise 10). Routine changes leave none.';

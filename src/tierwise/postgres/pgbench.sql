-- Scripts of pgbench, and what fills the caches; in braces is what Python puts in.

-- name: tpcb
\set aid random(1, {accounts})
\set bid random(1, {branches})
\set tid random(1, {tellers})
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;

-- name: look
\set aid 1 + {drawn}
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;

-- name: update
\set aid 1 + {drawn}
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :aid, :delta, CURRENT_TIMESTAMP);
END;

-- name: fill
DO $$ DECLARE account int; BEGIN
    FOR lookup IN 1..{lookups} LOOP
        account := 1 + floor(random() * {accounts});
        PERFORM abalance FROM pgbench_accounts WHERE aid = account;
        PERFORM abalance FROM pgbench_accounts WHERE aid = account;
    END LOOP;
END $$

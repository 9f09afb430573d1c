-- Version 2 of the schema: writes carry the time from which on nobody waits for them. The append of
-- version 1, without it, stays where it was, for the servers that use it meanwhile.

-- append adds records to the histories of users, who are distinct and in the order of their bytes.
-- owners[i] is the position of the user of record i. It returns for each record the outcome (0 added,
-- 1 there before, 2 in conflict with the event of this revision), and revision, mark and the mark
-- before. A record that is there with the mark that it has here was added by an earlier attempt of
-- the same call. A record whose time has come (untils) is not added (outcome 3).
CREATE FUNCTION gsimc.append(strict bool, parts smallint[], users bytea[], owners int[], ids bytea[],
  items bytea[], kinds bytea[], received bool[], times bigint[], fractions int[], vals float8[],
  marks bigint[], untils timestamptz[], OUT outcomes smallint[], OUT revisions bigint[],
  OUT their bigint[], OUT befores bigint[])
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE lives bigint[]; heads bigint[]; tips bigint[]; now timestamptz;
BEGIN
  IF strict THEN PERFORM gsimc.confirm(); END IF;
  SELECT h.lives, h.revisions, h.marks INTO lives, heads, tips FROM gsimc.hold(parts, users) h;
  -- Who erases one of the users from here on waits for the end of this, and removes what it adds.
  now := clock_timestamp();
  WITH input AS (
    SELECT i.*, lives[i.who] AS life FROM unnest(owners, ids, items, kinds, received, times, fractions,
      vals, marks, untils) WITH ORDINALITY
      AS i (who, event_id, item, kind, received, seconds, nanos, value, mark, until, n)
    WHERE i.until > now
  ), judged AS (
    SELECT i.*, e.revision AS old, e.mark AS old_mark, first_value(i.n) OVER w AS lead,
      CASE WHEN e.revision IS NOT NULL THEN
        e.item = i.item AND e.kind = i.kind AND e.value = i.value
        AND (i.received OR e.seconds = i.seconds AND e.nanos = i.nanos)
      ELSE
        first_value(i.item) OVER w = i.item AND first_value(i.kind) OVER w = i.kind
        AND first_value(i.value) OVER w = i.value AND (i.received
          OR first_value(i.seconds) OVER w = i.seconds AND first_value(i.nanos) OVER w = i.nanos)
      END AS same
    FROM input i LEFT JOIN gsimc.event e ON e.life = i.life AND e.event_id = i.event_id
    WINDOW w AS (PARTITION BY i.who, i.event_id ORDER BY i.n)
  ), ranked AS (
    SELECT j.*, old IS NULL AND n = lead AS fresh,
      heads[who] + count(*) FILTER (WHERE old IS NULL AND n = lead) OVER (PARTITION BY who ORDER BY n)
        AS revision
    FROM judged j
  ), chained AS (
    SELECT n, life, revision, mark, seconds, value, nanos, event_id, item, kind, who,
      coalesce(lag(mark) OVER (PARTITION BY who ORDER BY n), tips[who]) AS before
    FROM ranked WHERE fresh
  ), added AS (
    INSERT INTO gsimc.event (life, revision, mark, seconds, value, nanos, event_id, item, kind)
      SELECT life, revision, mark, seconds, value, nanos, event_id, item, kind FROM chained
  ), moved AS (
    UPDATE gsimc.head h SET revision = x.revision, mark = x.mark
      FROM (SELECT DISTINCT ON (who) who, revision, mark FROM chained ORDER BY who, n DESC) x
      WHERE h.part = parts[x.who] AND h.user_id = users[x.who]
  ), told AS (
    SELECT r.n, CASE WHEN r.fresh THEN 0 WHEN NOT r.same THEN 2
        WHEN r.old_mark = r.mark THEN 0 ELSE 1 END AS outcome,
      CASE WHEN r.old IS NOT NULL THEN r.old ELSE c.revision END AS revision,
      CASE WHEN r.old IS NOT NULL THEN r.old_mark ELSE c.mark END AS mark,
      CASE WHEN r.old > 1 THEN
          (SELECT b.mark FROM gsimc.event b WHERE b.life = r.life AND b.revision = r.old - 1)
        WHEN r.old IS NULL THEN c.before ELSE 0 END AS before
    FROM ranked r LEFT JOIN chained c ON c.n = r.lead
    UNION ALL
    SELECT n, 3, 0, 0, 0 FROM unnest(untils) WITH ORDINALITY AS i (until, n) WHERE i.until <= now
  )
  SELECT array_agg(outcome ORDER BY n), array_agg(revision ORDER BY n), array_agg(mark ORDER BY n),
      array_agg(before ORDER BY n)
    INTO outcomes, revisions, their, befores FROM told;
  IF now >= ANY (untils) THEN
    DELETE FROM gsimc.head h USING unnest(parts, users) AS x (part, user_id)
      WHERE h.part = x.part AND h.user_id = x.user_id AND h.revision = 0;
  END IF;
END $$;

-- erase removes a history and returns its revision. The lock comes first: the removal then sees
-- what has been added up to there. A head that is not there is made, to wait for the transaction
-- that may have added the first event of the user and not ended yet.
CREATE OR REPLACE FUNCTION gsimc.erase(p smallint, who_id bytea) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE l bigint; r bigint;
BEGIN
  SELECT h.lives[1], h.revisions[1] INTO l, r FROM gsimc.hold(ARRAY[p], ARRAY[who_id]) h;
  DELETE FROM gsimc.event WHERE life = l;
  DELETE FROM gsimc.head WHERE part = p AND user_id = who_id;
  RETURN r;
END $$;

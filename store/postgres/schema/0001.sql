-- Version 1 of the schema. "gsimc" stands for the name of the schema throughout.
--
-- Users lie in 16 partitions by the hash of their id, which clients compute (store.Shard). All ids
-- are opaque bytes. Events hang on a life, a number that a history gets when it begins: its upper
-- bits are the partition, so that a life tells where its events are. An erased or rewritten history
-- goes on under another life.

CREATE TABLE gsimc.store (
  version int NOT NULL,  -- of this schema
  id bytea NOT NULL      -- 16 random bytes
);

-- One row for each user with a history. The revision is that of the last event, the mark is its.
CREATE TABLE gsimc.head (
  part smallint NOT NULL,
  life bigint NOT NULL,
  revision bigint NOT NULL,
  mark bigint NOT NULL,
  user_id bytea NOT NULL,
  PRIMARY KEY (part, user_id)
) PARTITION BY LIST (part);

-- seconds and nanos are the time since 1970; nanos is -1 for events without a time. kind is the
-- type.
CREATE TABLE gsimc.event (
  life bigint NOT NULL,
  revision bigint NOT NULL,
  mark bigint NOT NULL,
  seconds bigint NOT NULL,
  value float8 NOT NULL,
  nanos int NOT NULL,
  event_id bytea NOT NULL,
  item bytea NOT NULL,
  kind bytea NOT NULL,
  PRIMARY KEY (life, revision),
  UNIQUE (life, event_id)
) PARTITION BY RANGE (life);

CREATE SEQUENCE gsimc.lives MAXVALUE 281474976710655;

DO $$
BEGIN
  FOR p IN 0..15 LOOP
    EXECUTE format('CREATE TABLE gsimc.head_%s PARTITION OF gsimc.head FOR VALUES IN (%s) '
      'WITH (fillfactor = 70)', p, p);
    EXECUTE format('CREATE TABLE gsimc.event_%s PARTITION OF gsimc.event FOR VALUES FROM (%s) TO (%s)',
      p, p::bigint << 48, (p + 1)::bigint << 48);
  END LOOP;
END $$;

-- names are packed by the client.
CREATE TABLE gsimc.item (
  id bytea PRIMARY KEY,
  title bytea NOT NULL,
  categories bytea NOT NULL,
  labels bytea NOT NULL,
  hidden bool NOT NULL,
  shown_from bigint,   -- microseconds since 1970, or NULL
  shown_until bigint
);
CREATE TABLE gsimc.catalogue (revision bigint NOT NULL);
INSERT INTO gsimc.catalogue VALUES (0);

CREATE TABLE gsimc.lease (
  name bytea PRIMARY KEY,
  holder bytea NOT NULL,
  term bigint NOT NULL,
  until timestamptz NOT NULL
);

CREATE TABLE gsimc.note (
  topic bytea,
  name bytea,
  value bytea NOT NULL,
  PRIMARY KEY (topic, name)
);
ALTER TABLE gsimc.note ALTER value SET STORAGE EXTERNAL;

-- hold makes the heads of users, or locks those that are there, in the order of the arguments. All
-- transactions take users in the order of their bytes, so they never wait for each other in a
-- circle. A head of revision 0 must not outlive the transaction.
CREATE FUNCTION gsimc.hold(parts smallint[], users bytea[],
  OUT lives bigint[], OUT revisions bigint[], OUT marks bigint[])
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  -- "WHERE false" locks the row without a new version of it.
  INSERT INTO gsimc.head AS h (part, life, revision, mark, user_id)
    SELECT x.part, (x.part::bigint << 48) + nextval('gsimc.lives'), 0, 0, x.user_id
    FROM unnest(parts, users) WITH ORDINALITY AS x (part, user_id, n) ORDER BY x.n
    ON CONFLICT (part, user_id) DO UPDATE SET revision = h.revision WHERE false;
  SELECT array_agg(h.life ORDER BY x.n), array_agg(h.revision ORDER BY x.n),
      array_agg(h.mark ORDER BY x.n)
    INTO lives, revisions, marks
    FROM unnest(parts, users) WITH ORDINALITY AS x (part, user_id, n)
    JOIN gsimc.head h ON h.part = x.part AND h.user_id = x.user_id;
END $$;

-- confirm refuses to write without a synchronous standby.
CREATE FUNCTION gsimc.confirm() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_standby_names') = '' THEN
    RAISE EXCEPTION 'synchronous_standby_names is empty' USING ERRCODE = 'GS001';
  END IF;
END $$;

-- append adds records to the histories of users, who are distinct and in the order of their bytes.
-- owners[i] is the position of the user of record i. It returns for each record the outcome (0 added,
-- 1 there before, 2 in conflict with the event of this revision), and revision, mark and the mark
-- before. A record that is there with the mark that it has here was added by an earlier attempt of
-- the same call.
CREATE FUNCTION gsimc.append(strict bool, parts smallint[], users bytea[], owners int[], ids bytea[],
  items bytea[], kinds bytea[], received bool[], times bigint[], fractions int[], vals float8[],
  marks bigint[], OUT outcomes smallint[], OUT revisions bigint[], OUT their bigint[],
  OUT befores bigint[])
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE lives bigint[]; heads bigint[]; tips bigint[];
BEGIN
  IF strict THEN PERFORM gsimc.confirm(); END IF;
  SELECT h.lives, h.revisions, h.marks INTO lives, heads, tips FROM gsimc.hold(parts, users) h;
  WITH input AS (
    SELECT i.*, lives[i.who] AS life FROM unnest(owners, ids, items, kinds, received, times, fractions,
      vals, marks) WITH ORDINALITY
      AS i (who, event_id, item, kind, received, seconds, nanos, value, mark, n)
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
  )
  SELECT array_agg(outcome ORDER BY n), array_agg(revision ORDER BY n), array_agg(mark ORDER BY n),
      array_agg(before ORDER BY n)
    INTO outcomes, revisions, their, befores FROM told;
END $$;

-- erase removes a history and returns its revision. The lock comes first: the removal then sees
-- what has been added up to there.
CREATE FUNCTION gsimc.erase(p smallint, who_id bytea) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE l bigint; r bigint;
BEGIN
  SELECT life, revision INTO l, r FROM gsimc.head WHERE part = p AND user_id = who_id FOR UPDATE;
  IF NOT FOUND THEN RETURN 0; END IF;
  DELETE FROM gsimc.event WHERE life = l;
  DELETE FROM gsimc.head WHERE part = p AND user_id = who_id;
  RETURN r;
END $$;

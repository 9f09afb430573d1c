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

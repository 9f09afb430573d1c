package postgres

import "fmt"

// statements are the texts of statements that are often used, with the name of the schema.
type statements struct {
	schema           string
	identity         string
	append, erase    string
	hold             string
	since            [partitions]string
	deleteEvents     string
	deleteHead       string
	moveHead         string
	insertEvents     string
	nextLife         string
	history          [partitions]string
	item, items      string
	putItems         string
	deleteItems      string
	countItems       string
	itemsRevision    string
	lease, term      string
	release          string
	putNote          string
	deleteNotes      string
	note, noteNames  string
	fence, confirm   string
	users, estimates string
}

// eventColumns are the columns of an event after its revision, as scanEvent takes them.
const eventColumns = "mark, event_id, item, kind, seconds, nanos, value"

func newStatements(schema string) *statements {
	in := func(sql string) string { return inSchema(sql, schema) }
	s := &statements{
		schema:   schema,
		identity: in("SELECT id FROM gsimc.store"),
		append:   in("SELECT * FROM gsimc.append($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)"),
		erase:    in("SELECT gsimc.erase($1,$2)"),
		hold:     in("SELECT lives, revisions, marks FROM gsimc.hold($1,$2)"),
		confirm:  in("SELECT gsimc.confirm()"),

		deleteEvents: in("DELETE FROM gsimc.event WHERE life = $1"),
		deleteHead:   in("DELETE FROM gsimc.head WHERE part = $1 AND user_id = $2"),
		nextLife:     in("SELECT ($1::bigint << 48) + nextval('gsimc.lives')"),
		moveHead: in(`UPDATE gsimc.head SET life = $3, revision = $4, mark = $5
			WHERE part = $1 AND user_id = $2`),
		insertEvents: in(`INSERT INTO gsimc.event
			(life, revision, event_id, item, kind, seconds, nanos, value, mark)
			SELECT $1, x.n, x.event_id, x.item, x.kind, x.seconds, x.nanos, x.value, x.mark
			FROM unnest($2::bytea[],$3::bytea[],$4::bytea[],$5::bigint[],$6::int[],$7::float8[],
			$8::bigint[]) WITH ORDINALITY
			AS x (event_id, item, kind, seconds, nanos, value, mark, n)`),

		item: in(`SELECT id, title, categories, labels, hidden, shown_from, shown_until, more
			FROM gsimc.item WHERE id = $1`),
		items: in(`SELECT id, title, categories, labels, hidden, shown_from, shown_until, more
			FROM gsimc.item WHERE id > $1 ORDER BY id LIMIT $2`),
		putItems: in(`INSERT INTO gsimc.item
			SELECT * FROM unnest($1::bytea[],$2::bytea[],$3::bytea[],$4::bytea[],$5::bool[],
			$6::bigint[],$7::bigint[],$8::bytea[]) ON CONFLICT (id) DO UPDATE SET
			title = excluded.title, categories = excluded.categories, labels = excluded.labels,
			hidden = excluded.hidden, shown_from = excluded.shown_from,
			shown_until = excluded.shown_until, more = excluded.more`),
		deleteItems:   in("DELETE FROM gsimc.item WHERE id = ANY($1)"),
		countItems:    in("UPDATE gsimc.catalogue SET revision = revision + 1"),
		itemsRevision: in("SELECT revision FROM gsimc.catalogue"),

		lease: in(`INSERT INTO gsimc.lease AS l
			VALUES ($1, $2, 1, clock_timestamp() + $3 * interval '1 microsecond')
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until,
			term = CASE WHEN l.holder = excluded.holder THEN l.term ELSE l.term + 1 END
			WHERE l.holder = excluded.holder OR l.until <= clock_timestamp() RETURNING term`),
		term: in("SELECT term FROM gsimc.lease WHERE name = $1"),
		release: in(`UPDATE gsimc.lease SET until = '-infinity'
			WHERE name = $1 AND holder = $2`),
		// The lock keeps the term until the end of the transaction.
		fence: in("SELECT term FROM gsimc.lease WHERE name = $1 AND term = $2 FOR SHARE"),
		putNote: in(`INSERT INTO gsimc.note VALUES ($1,$2,$3)
			ON CONFLICT (topic, name) DO UPDATE SET value = excluded.value`),
		deleteNotes: in("DELETE FROM gsimc.note WHERE topic = $1 AND name = ANY($2)"),
		note:        in("SELECT value FROM gsimc.note WHERE topic = $1 AND name = $2"),
		noteNames:   in("SELECT name FROM gsimc.note WHERE topic = $1 ORDER BY name"),

		users: in("SELECT count(*) FROM gsimc.head"),
		estimates: `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint,
			coalesce(sum(pg_relation_size(c.oid))
				FILTER (WHERE c.relname LIKE 'head\_%'), 0)::bigint,
			coalesce(sum(greatest(c.reltuples, 0))
				FILTER (WHERE c.relname LIKE 'head\_%'), 0)::bigint
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relkind = 'r'`,
	}
	for p := range partitions {
		s.since[p] = in(fmt.Sprintf(`SELECT h.revision, h.mark, coalesce(k.mark, 0),
			coalesce(e.revision, 0), coalesce(e.mark, 0), coalesce(e.event_id, ''),
			coalesce(e.item, ''), coalesce(e.kind, ''), coalesce(e.seconds, 0),
			coalesce(e.nanos, 0), coalesce(e.value, 0)
			FROM gsimc.head_%d h
			LEFT JOIN gsimc.event_%[1]d k ON k.life = h.life AND k.revision = $2
			LEFT JOIN LATERAL (
				SELECT e.* FROM gsimc.event_%[1]d e WHERE e.life = h.life
				AND e.revision > CASE WHEN k.mark = $3 THEN $2::bigint ELSE 0 END
				AND e.revision <= $4 ORDER BY e.revision LIMIT $5
			) e ON true WHERE h.user_id = $1`, p))
		s.history[p] = in(fmt.Sprintf("SELECT revision, "+eventColumns+
			" FROM gsimc.event_%d WHERE life = $1 ORDER BY revision", p))
	}
	return s
}

package valkey

import (
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/valkey/internal/cluster"
)

// keys makes the names of keys. Those of users begin with {namespace: and all others with
// {namespace/ so that no user id can meet another key.
type keys struct {
	user  string // before a user id
	tags  *[cluster.Slots]string
	meta  string // hash: identity and format
	items string // tag of the catalogue
	notes string // tag of leases and notes
}

func newKeys(namespace string) keys {
	other := "{" + namespace + "/"
	return keys{
		user: "{" + namespace + ":", tags: cluster.Tags(namespace + "/"),
		meta: other + "meta}", items: other + "items}", notes: other + "notes}",
	}
}

const (
	historySuffix = "}h" // of the list of events
	idsSuffix     = "}i" // of the hash of event ids
)

// history returns the keys of a user.
func (k *keys) history(user string) []string {
	return []string{k.user + user + historySuffix, k.user + user + idsSuffix}
}

// once returns the keys of a user and one in the same slot for the token of a call.
func (k *keys) once(user, token string) []string {
	h := k.history(user)
	return append(h, "{"+k.tags[cluster.Slot(h[0])]+"}t"+token)
}

// userOf returns the user of the key of a history; false for other keys.
func (k *keys) userOf(key string) (string, bool) {
	from, to := len(k.user), len(key)-len(historySuffix)
	if to < from || key[:from] != k.user || key[to:] != historySuffix {
		return "", false
	}
	return key[from:to], true
}

// known reports whether an id can be that of a user.
func known(user string) bool { return user != "" && len(user) <= store.MaxIDBytes }

// catalogue returns the keys of the catalogue, and one for the token of a call.
func (k *keys) catalogue(token string) []string {
	return []string{k.items + "d", k.items + "o", k.items + "r", k.items + "t" + token}
}

// topic returns the keys of the notes of a topic, of the token of a call, and of a lease.
func (k *keys) topic(topic, token, lease string) []string {
	return []string{k.notes + "n" + topic, k.notes + "t" + token, k.lease(lease)}
}

func (k *keys) lease(name string) string { return k.notes + "l" + name }

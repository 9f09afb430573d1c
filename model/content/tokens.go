package content

import (
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
)

// The kinds of tokens, which are never equal to each other.
const (
	word     = "w"
	pair     = "p"
	category = "c"
	label    = "l"
	year     = "y"
)

// tokens returns hashes of the tokens of d, each once, ascending. Of two tokens in a million
// million one pair has equal hashes.
func (d *Document) tokens() []uint64 {
	var all []uint64
	words := strings.FieldsFunc(strings.ToLower(d.Title), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for i, w := range words {
		all = append(all, hash(word, w))
		if i > 0 {
			all = append(all, hash(pair, words[i-1]+" "+w))
		}
		if isYear(w) {
			all = append(all, hash(year, w), hash(year, w[:3]))
		}
	}
	for _, c := range d.Categories {
		all = append(all, hash(category, c))
	}
	for _, l := range d.Labels {
		all = append(all, hash(label, l))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isYear reports whether a word looks like a year: in the titles of films, books and cars it says
// more of an item than its other words.
func isYear(w string) bool {
	return len(w) == 4 && (w[:2] == "19" || w[:2] == "20") &&
		strings.Trim(w, "0123456789") == ""
}

func hash(kind, text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(kind + text))
	return h.Sum64()
}

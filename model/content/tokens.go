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

// The parts of a document that count.
const (
	mostWords = 32 // the first ones
	mostNames = 64 // categories and labels
)

// tokens returns hashes of the tokens of d, each once, ascending. Where two tokens have the same
// hash, items look more alike than they are, and that is all.
func (d *Document) tokens() []uint64 {
	var all []uint64
	words := strings.FieldsFunc(strings.ToLower(d.Title), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	for i, w := range words[:min(len(words), mostWords)] {
		switch {
		case isYear(w):
			all = append(all, hash(word, w), hash(year, w), hash(year, w[:3]))
		case !isNumeral(w): // the 3 of a third part says nothing of what it is a part of
			all = append(all, hash(word, w))
		}
		if i > 0 {
			all = append(all, hash(pair, words[i-1]+" "+w))
		}
	}
	categories := d.Categories[:min(len(d.Categories), mostNames)]
	for _, c := range categories {
		all = append(all, hash(category, c))
	}
	for _, l := range d.Labels[:min(len(d.Labels), mostNames-len(categories))] {
		all = append(all, hash(label, l))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isYear reports whether a word looks like a year: in the titles of films, books and cars it says
// more of an item than its other words.
func isYear(w string) bool {
	return len(w) == 4 && (w[:2] == "19" || w[:2] == "20") && isNumeral(w)
}

func isNumeral(w string) bool { return strings.Trim(w, "0123456789") == "" }

func hash(kind, text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(kind + text))
	return h.Sum64()
}

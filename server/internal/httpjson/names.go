package httpjson

import (
	"strings"
	"unicode"

	"github.com/gsimc/gsimc/internal/near"
)

// lowerCamel returns the name of a parameter in lower camel case, as openapi.json has it. It
// reports whether the key is a spelling that is taken: each of its parts is in lower camel case, or
// in snake case.
func lowerCamel(key string) (name string, ok bool) {
	parts := strings.Split(key, ".")
	ok = true
	for i, part := range parts {
		words := strings.Split(part, "_")
		for j, word := range words[1:] {
			words[j+1] = strings.ToUpper(word[:min(1, len(word))]) + word[min(1, len(word)):]
		}
		parts[i] = strings.Join(words, "")
		ok = ok && (len(words) == 1 || snake(parts[i]) == part)
	}
	return strings.Join(parts, "."), ok
}

// snake returns a name that is in lower camel case in snake case.
func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// suggestion says which of the names, with their paths, was probably meant, if there is one. Else
// it says all of them if they are few.
func suggestion(key string, known []string) string {
	const few = 3
	var names []string // of each path two
	for _, path := range known {
		names = append(names, path, path[strings.LastIndex(path, ".")+1:])
	}
	switch at := near.Index(key, names); {
	case at >= 0:
		return ": did you mean " + known[at/2] + "?"
	case len(known) > 0 && len(known) <= few:
		return ": it has " + strings.Join(known, ", ")
	}
	return ""
}

// printable is a text of a client as an answer may repeat it.
func printable(text string) string {
	const most = 100
	text = strings.ToValidUTF8(text[:min(len(text), most)], "")
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return '?'
	}, text)
}

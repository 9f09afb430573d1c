package httpjson

import (
	"strings"
	"unicode"
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
	const (
		prefix = 1 // how far a name is from its beginning
		few    = 3
	)
	key = plain(key)
	best, least := "", 1+len(key)/3
	for _, path := range known {
		last := path[strings.LastIndex(path, ".")+1:]
		for _, name := range []string{plain(path), plain(last)} {
			far := distance(key, name)
			if len(key) > 2 && strings.HasPrefix(name, key) {
				far = min(far, prefix)
			}
			if far < least {
				best, least = path, far
			}
		}
	}
	switch {
	case best != "":
		return ": did you mean " + best + "?"
	case len(known) > 0 && len(known) <= few:
		return ": it has " + strings.Join(known, ", ")
	}
	return ""
}

// longest is a length that no name has.
const longest = 64

// plain is a name without what people spell differently. It is cut, as the time that distance takes
// depends on its length.
func plain(name string) string {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) // may be longer
	return name[:min(len(name), longest)]
}

// distance is the number of bytes to insert, delete, change or swap with the next that make b of a
// (optimal string alignment). Both are plain.
func distance(a, b string) int {
	var far [longest + 1][longest + 1]int // of the beginnings of a and b
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			if i == 0 || j == 0 {
				far[i][j] = i + j
				continue
			}
			change := far[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				change = min(change, far[i-2][j-2]+1)
			}
			far[i][j] = min(change, far[i-1][j]+1, far[i][j-1]+1)
		}
	}
	return far[len(a)][len(b)]
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

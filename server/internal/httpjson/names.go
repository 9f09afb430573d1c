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

// suggestion names the parameter that was probably meant, if there is one.
func suggestion(key string, known []parameter) string {
	const prefix = 1 // how far a name is from its beginning
	key = plain(key)
	best, least := "", 1+len(key)/3
	for _, p := range known {
		if p.In != inQuery {
			continue
		}
		last := p.Name[strings.LastIndex(p.Name, ".")+1:]
		for _, name := range []string{plain(p.Name), plain(last)} {
			far := distance(key, name)
			if len(key) > 2 && strings.HasPrefix(name, key) {
				far = min(far, prefix)
			}
			if far < least {
				best, least = p.Name, far
			}
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + snake(best) + "?"
}

// plain is a name without what people spell differently. It is cut to a length that no name has, as
// the time that distance takes depends on it.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name[:min(len(name), 64)]))
}

// distance is the number of bytes to insert, delete or change that make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of the letters of a so far, to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
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

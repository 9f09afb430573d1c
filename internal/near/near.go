// Package near finds the name that was probably meant by one that nothing has.
package near

import "strings"

// Index returns the place of the name that was probably meant by key, the first of equally near
// ones, or -1. Such a name differs by at most a third of the letters of key, or begins with key.
// Capitals, hyphens and underscores make no difference.
func Index(key string, names []string) int {
	const prefix = 1 // how far a name is from its beginning
	key = plain(key)
	best, least := -1, 1+len(key)/3
	for i, name := range names {
		name = plain(name)
		far := distance(key, name)
		if len(key) > 2 && strings.HasPrefix(name, key) {
			far = min(far, prefix)
		}
		if far < least {
			best, least = i, far
		}
	}
	return best
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

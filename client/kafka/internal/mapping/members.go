package mapping

import (
	"bytes"
	"encoding/json"
)

// member is a name of an object with its value, as both are written.
type member struct {
	name  []byte
	value json.RawMessage
}

// object is a list of members. Where a name is there twice, the last counts.
type object []member

func (o object) get(name string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if string(o[i].name) == name {
			return o[i].value
		}
	}
	return nil
}

// members appends the members of an object, and reports whether it is one. The text must be valid
// JSON: it is looked at a second time only, so that nothing of values that nobody wants is made. A
// map by encoding/json takes six times as long.
func members(o object, text []byte) (object, bool) {
	at := space(text, 0)
	if text[at] != '{' {
		return nil, false
	}
	for at = space(text, at+1); text[at] != '}'; {
		end := skip(text, at)
		name := unquote(text[at:end])
		at = space(text, space(text, end)+1) // behind the colon
		end = skip(text, at)
		o = append(o, member{name, text[at:end]})
		if at = space(text, end); text[at] == ',' {
			at = space(text, at+1)
		}
	}
	return o, true
}

// space returns the place of the first byte from at on that is no space.
func space(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r' {
		at++
	}
	return at
}

// skip returns the end of the value that begins at a place.
func skip(text []byte, at int) int {
	for depth := 0; at < len(text); {
		switch text[at] {
		case '"':
			for at++; text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
			at++
		case '{', '[':
			depth++
			at++
			continue
		case '}', ']':
			if depth == 0 { // the end of what is around a number or a word
				return at
			}
			depth--
			at++
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return at
			}
			at++
			continue
		default:
			at++
			continue
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

// unquote returns the text of a string of valid JSON.
func unquote(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal(raw, &s) // it is valid
	return []byte(s)
}

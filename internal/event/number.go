package event

const (
	// MaxNumbers is the largest number of numbers of an item, such as a price, and MaxNumberNames
	// that of the names that they have in a catalogue.
	MaxNumbers, MaxNumberNames = 20, 100

	// MaxNumberBytes is the longest name of a number, in bytes.
	MaxNumberBytes = 64

	// NumberSpelling says how names of numbers are spelled, for errors: the regular expression that
	// they match, and MaxNumberBytes. A letter follows each underscore, so that the names in small
	// and in camel case tell each other.
	NumberSpelling = "^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$ in at most 64 bytes"
)

// ValidNumberName tells whether a name is spelled as [NumberSpelling] says.
func ValidNumberName(name string) bool {
	begins := true // a part
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z':
			begins = false
		case begins || c != '_' && (c < '0' || c > '9'):
			return false
		default:
			begins = c == '_'
		}
	}
	return !begins && len(name) <= MaxNumberBytes
}

package cli

import (
	"net/url"
	"regexp"
	"strings"
)

// hidden stands in the place of a secret.
const hidden = "xxxxx"

var (
	// beforeAt is the user of a URL with what follows, up to the last @: a password may have any
	// character, by mistake.
	beforeAt = regexp.MustCompile(`(?s)^([\w+.-]+):(/*)(.*)@`)
	// Settings of a URL's query, or of a list of words as libpq takes it.
	ofQuery = regexp.MustCompile(`([^?&\s]+?)=([^&]*)`)
	ofWords = regexp.MustCompile(`(\S+?)(\s*=\s*)('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|\S+)`)
	// secretName is the end of the names of settings that are secrets; password-file is none.
	secretName = regexp.MustCompile(`(?i)(pass|password|passwd|passphrase|pwd|secret|token|key)$`)
	// fileName are settings that end like secrets, and name files.
	fileName = regexp.MustCompile(`(?i)^(tls-?|ssl)key$`)
)

// HideSecrets returns an address with other characters in the place of its password: of its user's,
// and of settings with such names. It hides too much of an odd address rather than too little.
func HideSecrets(text string) string {
	text = beforeAt.ReplaceAllStringFunc(text, func(match string) string {
		m := beforeAt.FindStringSubmatch(match)
		user, _, hasPassword := strings.Cut(m[3], ":")
		switch {
		case hasPassword:
			return m[1] + ":" + m[2] + user + ":" + hidden + "@"
		case strings.HasPrefix(m[1], "postgres") && m[2] != "":
			return match // the name of a role
		}
		return m[1] + ":" + m[2] + hidden + "@"
	})
	settings := ofWords
	if strings.Contains(text, "://") {
		settings = ofQuery
	}
	return settings.ReplaceAllStringFunc(text, func(match string) string {
		name, _, _ := strings.Cut(match, "=")
		name = strings.TrimSpace(name)
		plain, err := url.QueryUnescape(name)
		if err != nil || !secretName.MatchString(plain) || fileName.MatchString(plain) {
			return match
		}
		return name + "=" + hidden
	})
}

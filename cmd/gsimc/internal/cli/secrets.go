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
	// character, by mistake. A scheme may be missing.
	beforeAt = regexp.MustCompile(`(?s)^([^/@:=]*:/*|\s*//+)(.*)@`)
	// setting is the name of one, in a URL or a list of words as libpq takes it.
	setting = regexp.MustCompile(`([^?&;#\s=]+)\s*=`)
	// secretName is the end of the names of settings that are secrets; password-file is none.
	secretName = regexp.MustCompile(`(?i)(pass|password|passwd|passphrase|pwd|secret|token|key)$`)
	// fileName are settings that end like secrets, and name files.
	fileName = regexp.MustCompile(`(?i)^(tls-?|ssl)key$`)
)

// HideSecrets returns an address with other characters in the place of its secrets: of its user's
// password, and of all from the value of a setting with such a name on, since where a value ends
// depends on who reads it. If an @ follows that name, it hides all but the scheme: the name may be
// within a password. It hides too much of an odd address rather than too little.
func HideSecrets(text string) string {
	for _, at := range setting.FindAllStringSubmatchIndex(text, -1) {
		if !isSecret(text[at[2]:at[3]]) {
			continue
		}
		if m := beforeAt.FindStringSubmatchIndex(text); m != nil && m[1] > at[1] {
			return text[:m[3]] + hidden
		}
		text = text[:at[3]] + "=" + hidden
		break
	}
	m := beforeAt.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	scheme, host := m[1], text[len(m[0]):]
	user, _, hasPassword := strings.Cut(m[2], ":")
	switch {
	case hasPassword:
		return scheme + user + ":" + hidden + "@" + host
	case strings.HasPrefix(scheme, "postgres") && strings.HasSuffix(scheme, "/"):
		return text // the name of a role
	}
	return scheme + hidden + "@" + host
}

// isSecret reports whether the value of a setting is a secret, by its name as it is written or as
// a URL means it.
func isSecret(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = strings.TrimSpace(plain)
	}
	return secretName.MatchString(name) && !fileName.MatchString(name)
}

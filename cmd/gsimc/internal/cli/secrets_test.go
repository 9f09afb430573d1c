package cli

import (
	"strings"
	"testing"
)

func TestHideSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"pebble":                            "pebble",
		"/var/lib/gsimc":                    "/var/lib/gsimc",
		"0.0.0.0:50051":                     "0.0.0.0:50051",
		"http://localhost:4317":             "http://localhost:4317",
		"postgres://ann@h1,h2/d?sslmode=no": "postgres://ann@h1,h2/d?sslmode=no",
		"valkey://h1:1,h2:2/shop?user=ann&password-file=/a/pass&tls-key=/k": "valkey://h1:1," +
			"h2:2/shop?user=ann&password-file=/a/pass&tls-key=/k",
		"postgres://h/d?sslkey=/k&passfile=/p":     "postgres://h/d?sslkey=/k&passfile=/p",
		"postgres://ann:S3CRET@h/d":                "postgres://ann:xxxxx@h/d",
		"postgresql://ann:S3CRET@h/d?a=b":          "postgresql://ann:xxxxx@h/d?a=b",
		"POSTGRES://ann:S3/CR?E#T@S3CRET@h/d":      "POSTGRES://ann:xxxxx@h/d",
		"postgres://ann:S3CRET%ZZ@h:x/d":           "postgres://ann:xxxxx@h:x/d",
		"redis://:S3CRET@h:6379/0":                 "redis://:xxxxx@h:6379/0",
		"rediss://S3CRET@h:6379/0":                 "rediss://xxxxx@h:6379/0",
		"valkey://S3CRET@h:6379/shop":              "valkey://xxxxx@h:6379/shop",
		"redis:S3CRET@h:6379":                      "redis:xxxxx@h:6379",
		"postgres:S3CRET@h":                        "postgres:xxxxx@h",
		"postgres://h/d?password=S3CRET&a=b":       "postgres://h/d?password=xxxxx",
		"postgres://h/d?a=b&Password=S3 CRET":      "postgres://h/d?a=b&Password=xxxxx",
		"postgres://h/d?pass%77ord=S3CRET":         "postgres://h/d?pass%77ord=xxxxx",
		"postgres://h/d?sslpassword=S3CRET&x=1":    "postgres://h/d?sslpassword=xxxxx",
		"postgres://h/d?password%20=S3CRET":        "postgres://h/d?password%20=xxxxx",
		"valkey://h:1/n?pwd=S3CRET":                "valkey://h:1/n?pwd=xxxxx",
		"host=h password=S3CRET user=ann":          "host=h password=xxxxx",
		"host=h password = S3&CRET dbname=d":       "host=h password=xxxxx",
		`host=h password='S3CRET \' S3CRET' a=b`:   `host=h password=xxxxx`,
		`password="S3CRET S3CRET" host=h`:          `password=xxxxx`,
		"https://h/v1/traces?token=S3CRET&key=S3C": "https://h/v1/traces?token=xxxxx",
		"redis://h/0?password=S3CRET;S3C#S3C":      "redis://h/0?password=xxxxx",
		"postgres://h/d?a=b;password=S3CRET":       "postgres://h/d?a=b;password=xxxxx",
		"postgres://h/d#password=S3CRET":           "postgres://h/d#password=xxxxx",
		"postgres://h/d?%ZZpassword=S3CRET":        "postgres://h/d?%ZZpassword=xxxxx",
		"postgres://a:S3C@h/d?pwd=S3CRET":          "postgres://a:xxxxx@h/d?pwd=xxxxx",
		"postgres://a:S3C?pwd=S3CRET@h/d":          "postgres://xxxxx",
		"postgres://u@h:1/d?password=S3C@S3CRET":   "postgres://xxxxx",
		"valkey://h/ns?password=S3C@S3CRET":        "valkey://xxxxx",
		"https://u@h/?token=S3CRET@S3C&y=1":        "https://xxxxx",
		" postgres://u:S3CRET@h/d\n":               " postgres://u:xxxxx@h/d\n",
		`"postgres://u:S3CRET@h/d"`:                `"postgres://u:xxxxx@h/d"`,
		"//u:S3CRET@h/d":                           "//u:xxxxx@h/d",
		" //u:S3CRET@h/d":                          " //u:xxxxx@h/d",
		" pebble ":                                 " pebble ",
		"u:S3CRET@h/d":                             "u:xxxxx@h/d",
		`host=h password=a\ S3CRET`:                `host=h password=xxxxx`,
		"host=h password=a@S3CRET":                 "host=h password=xxxxx",
	} {
		if got := HideSecrets(text); got != want || strings.Contains(got, "S3C") {
			t.Errorf("%s: shown as\n%s, want\n%s", text, got, want)
		}
	}
}

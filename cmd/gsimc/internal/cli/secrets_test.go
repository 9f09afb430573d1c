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
		"postgres://h/d?password=S3CRET&a=b":       "postgres://h/d?password=xxxxx&a=b",
		"postgres://h/d?a=b&Password=S3 CRET":      "postgres://h/d?a=b&Password=xxxxx",
		"postgres://h/d?pass%77ord=S3CRET":         "postgres://h/d?pass%77ord=xxxxx",
		"postgres://h/d?sslpassword=S3CRET&x=1":    "postgres://h/d?sslpassword=xxxxx&x=1",
		"valkey://h:1/n?pwd=S3CRET":                "valkey://h:1/n?pwd=xxxxx",
		"host=h password=S3CRET user=ann":          "host=h password=xxxxx user=ann",
		"host=h password = S3&CRET dbname=d":       "host=h password=xxxxx dbname=d",
		`host=h password='S3CRET \' S3CRET' a=b`:   `host=h password=xxxxx a=b`,
		`password="S3CRET S3CRET" host=h`:          `password=xxxxx host=h`,
		"https://h/v1/traces?token=S3CRET&key=S3C": "https://h/v1/traces?token=xxxxx&key=xxxxx",
	} {
		if got := HideSecrets(text); got != want || strings.Contains(got, "S3C") {
			t.Errorf("%s: shown as\n%s, want\n%s", text, got, want)
		}
	}
}

package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// completions are the scripts of shells, by where they belong below /usr/share.
var completions = map[string]string{
	"bash": "bash-completion/completions/gsimc",
	"fish": "fish/vendor_completions.d/gsimc.fish",
	"zsh":  "zsh/site-functions/_gsimc",
}

// documents asks the program for its manual and its completions.
func documents(program string) ([]file, error) {
	manual, err := manual(program)
	if err != nil {
		return nil, err
	}
	files := []file{{name: "share/man/man1/gsimc.1", mode: 0o644, data: []byte(manual)}}
	for _, shell := range []string{"bash", "fish", "zsh"} {
		text, err := ask(program, "completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files,
			file{name: "share/" + completions[shell], mode: 0o644, data: []byte(text)})
	}
	return files, nil
}

// manual is the page gsimc(1): what `gsimc help` prints of gsimc and of each command, as it is.
func manual(program string) (string, error) {
	var page strings.Builder
	page.WriteString(".TH GSIMC 1\n.SH NAME\ngsimc \\- recommendations by graph signal sampling\n")
	var add func(command ...string) error
	add = func(command ...string) error {
		text, err := ask(program, append([]string{"help"}, command...)...)
		if err != nil {
			return err
		}
		heading := strings.ToUpper(strings.Join(append([]string{"gsimc"}, command...), " "))
		fmt.Fprintf(&page, ".SH %s\n.nf\n%s.fi\n", heading, escape(text))
		next, err := ask(program, append([]string{"complete", "--"}, command...)...)
		if err != nil {
			return err
		}
		for _, word := range strings.Fields(next) {
			if !strings.HasPrefix(word, "-") {
				if err := add(append(command[:len(command):len(command)], word)...); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := add()
	return page.String(), err
}

// escape makes lines of text what roff prints as they are.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	return strings.ReplaceAll("\n"+text, "\n.", "\n\\&.")[1:]
}

// ask runs the program without settings.
func ask(program string, words ...string) (string, error) {
	cmd := exec.Command(program, words...)
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("gsimc %s: %w", strings.Join(words, " "), err)
	}
	return string(out), nil
}

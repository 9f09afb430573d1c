package enginetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// call sends commands to a server of the Redis protocol on a connection of their own and returns
// the answers as text, the elements of arrays on lines. Error replies are
// joined to one error.
func call(
	host Host, addr string, timeout time.Duration, commands ...[]string,
) ([]string, error) {
	c, err := dial(host, addr, timeout)
	if err != nil {
		return nil, err
	}
	defer c.Close()                            //nolint:errcheck // nothing is left to be sent
	_ = c.SetDeadline(time.Now().Add(timeout)) // a TCP connection has deadlines
	var b strings.Builder
	for _, args := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	if _, err := io.WriteString(c, b.String()); err != nil {
		return nil, err
	}
	r, answers := bufio.NewReader(c), make([]string, len(commands))
	for i := range answers {
		text, e := answer(r)
		answers[i], err = text, errors.Join(err, e)
		if e != nil && !errors.As(e, new(errorReply)) {
			return nil, e
		}
	}
	return answers, err
}

// An errorReply is an answer that is an error.
type errorReply string

// Error returns the text of the server.
func (e errorReply) Error() string { return string(e) }

func answer(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", errors.New("an empty line instead of an answer")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '-':
		return "", errorReply(rest)
	case '$', '*':
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return "", err
		}
		if kind == '$' {
			text := make([]byte, n+2)
			_, err := io.ReadFull(r, text)
			return string(text[:n]), err
		}
		elements := make([]string, n)
		for i := range elements {
			if elements[i], err = answer(r); err != nil {
				return "", err
			}
		}
		return strings.Join(elements, "\n"), nil
	default: // + and :
		return rest, nil
	}
}

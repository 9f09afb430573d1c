package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/gsimc/gsimc/store"
)

// An action is what to do after an error reply.
type action int

const (
	giveUp   action = iota // the error is the outcome
	follow                 // the slot has another primary
	ask                    // the slot moves, and another node has these keys
	load                   // the node does not have the functions
	tryAgain               // the node is not ready
	late                   // the node came to the call too late, and did nothing
)

// notReady are the first words of replies of nodes that cannot serve a call at present, and may
// later.
var notReady = []string{"TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN",
	"NOREPLICAS", "UNBLOCKED", "BUSY", "MISCONF", "NOPERM"}

// judge returns what to do after an error reply, the address that it names, and the error if it is
// the outcome.
func judge(answer error) (do action, addr string, err error) {
	reply, ok := rueidis.IsRedisErr(answer)
	if !ok {
		return giveUp, "", answer
	}
	text := reply.Error()
	first, _, _ := strings.Cut(text, " ")
	if strings.HasPrefix(first, "MOVED") || strings.HasPrefix(first, "ASK") {
		return redirection(reply)
	}
	if refused := refusal("a node", answer); refused != nil {
		return tryAgain, "", refused
	}
	for _, word := range notReady {
		if first == word {
			return tryAgain, "", unavailable("a node answers: %s", text)
		}
	}
	switch {
	case first == "LATE":
		return late, "", unavailable("a node answers: %s", text)
	case says(reply, "Function not found"):
		return load, "", unavailable("a node does not have the functions")
	case says(reply, "OOM command not allowed"):
		return giveUp, "", fmt.Errorf("%w: a node of the cluster has reached its maxmemory",
			store.ErrFull)
	case first == "WRONGTYPE":
		return giveUp, "", fmt.Errorf("%w: a key has another type", store.ErrCorrupt)
	default:
		return giveUp, "", fmt.Errorf("valkey: a node answers: %s", text)
	}
}

// redirection is judge for replies that say which node to turn to: a word, the slot, the address.
func redirection(reply *rueidis.RedisError) (do action, addr string, err error) {
	text := reply.Error() // of the protocol, which has words in place of codes
	if parts := strings.Split(text, " "); len(parts) < 3 || parts[2] == "" || parts[2][0] == ':' {
		return tryAgain, "", unavailable("a node does not say where a slot is")
	}
	if addr, moved := reply.IsMoved(); moved {
		return follow, addr, unavailable("the slot moves from node to node")
	}
	addr, _ = reply.IsAsk()
	return ask, addr, unavailable("the slot is on the move")
}

// says reports whether the text of an error reply has some words: the protocol has no other way to
// tell replies apart that begin with ERR, and its other codes are words of the text too.
func says(reply *rueidis.RedisError, words string) bool {
	text := reply.Error()
	return strings.Contains(text, words)
}

// refusal is the error of a node that does not take the name and password, nil for another answer.
func refusal(addr string, answer error) error {
	reply, ok := rueidis.IsRedisErr(answer)
	if !ok {
		return nil
	}
	text := reply.Error()
	if !strings.HasPrefix(text, "NOAUTH") && !strings.HasPrefix(text, "WRONGPASS") {
		return nil
	}
	return &store.RefusedError{What: "password", Answer: addr + ": " + text,
		Remedy: "put that of the user into the file of password-file, which each new connection " +
			"reads; see docs/scale.md"}
}

// advised is an error reply to a server that connects, with what to do about it where the reply
// does not say.
func advised(err error) error {
	reply, ok := rueidis.IsRedisErr(err)
	switch {
	case !ok:
		return err
	case says(reply, "cluster support disabled"):
		return errors.New("it is not part of a cluster: start it with cluster-enabled yes")
	default:
		return err
	}
}

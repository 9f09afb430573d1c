package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// jsonAttacks are those on the JSON side.
func jsonAttacks() []attack {
	return []attack{
		{name: "JSON answers that are not read", json: true, does: "closes connections with many",
			run: leaveUnread(func() string { return post("/v1/recommend:batch", largeBatch()) })},
		{name: "JSON answer to a padded batch", json: true, does: "closes connections with many",
			run: leaveUnread(func() string {
				return post("/v1/recommend:batch", strings.Repeat(" ", 3<<20)+largeBatch())
			})},
		{name: "JSON exports that are not read", json: true, does: "ends the slowest",
			run: unreadExports},
		{name: "JSON bodies that stall", json: true, does: "ends the slowest",
			run: stalledBodies(2 << 20)},
		{name: "JSON bodies, a byte a moment", json: true,
			does: "ends the slowest when there are more than 64", run: stalledBodies(0)},
		{name: "JSON lists of empty objects", json: true, does: "refuses them undecoded: 400",
			run: postOverAndOver(`{"events":[{}` + strings.Repeat(",{}", 1<<20) + "]}")},
		{name: "JSON lists in lists", json: true, does: "refuses them undecoded: 400",
			run: postOverAndOver(strings.Repeat("[", 4<<20))},
	}
}

// post is the text of a request.
func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nGrpc-Timeout: 30S\r\n"+
		"Content-Length: %d\r\n\r\n%s", path, len(body), body)
}

// largeBatch asks for as many items as there may be in an answer: 8 MB.
var largeBatch = sync.OnceValue(func() string {
	const subject = `{"userId": "bad"}`
	return `{"pageSize": 100, "subjects": [` + strings.Repeat(subject+",", 999) + subject + "]}"
})

// leaveUnread asks on many connections and reads the beginning of the answers.
func leaveUnread(request func() string) func(*assault) {
	once := sync.OnceValue(request) // thousands of large ones would keep the good client busy
	return func(a *assault) {
		var asking sync.WaitGroup
		defer asking.Wait()
		for i := 0; !a.over() && i < a.conns/16; i++ {
			asking.Go(func() {
				c, err := net.Dial("tcp", a.address)
				if err != nil {
					return
				}
				defer c.Close()
				if _, err := io.WriteString(c, once()); err == nil {
					a.sent.Add(1)
					_, _ = io.ReadFull(c, make([]byte, 12)) // the server may end it at any time
				}
				<-a.Done()
			})
		}
		<-a.Done()
	}
}

// unreadExports leaves exports of a long history unread.
func unreadExports(a *assault) {
	event := `{"userId": "bad", "itemId": "i%07d", "eventId": "%d"}`
	for i := 0; i < 100; i++ {
		var events []string
		for j := range 500 {
			events = append(events, fmt.Sprintf(event, j%100, 500*i+j))
		}
		resp, err := http.Post("http://"+a.address+"/v1/events:batch", "application/json",
			strings.NewReader(`{"events": [`+strings.Join(events, ",")+"]}"))
		if err != nil || resp.StatusCode != http.StatusOK {
			a.t.Errorf("events of the history: %v, %v", resp, err)
			return
		}
		resp.Body.Close()
	}
	leaveUnread(func() string {
		return "GET /v1/users/bad/export HTTP/1.1\r\nHost: localhost\r\n\r\n"
	})(a)
}

// stalledBodies sends the beginning of large bodies, and then a byte now and then.
func stalledBodies(first int) func(*assault) {
	begin := strings.TrimSuffix(post("/v1/events:batch", strings.Repeat(" ", 4<<20)),
		strings.Repeat(" ", 4<<20-first))
	return func(a *assault) { a.repeat(100, func() { a.stall(begin) }) }
}

// repeat does something over and over, in atOnce goroutines, until the attack is over.
func (a *assault) repeat(atOnce int, do func()) {
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for !a.over() {
				do()
			}
		})
	}
	all.Wait()
}

func (a *assault) stall(begin string) {
	c, err := net.DialTimeout("tcp", a.address, time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(a, func() { _ = c.Close() })()
	text := begin
	for err == nil && !a.over() {
		if _, err = io.WriteString(c, text); err == nil {
			a.sent.Add(1)
		}
		text = " "
		time.Sleep(100 * time.Millisecond)
	}
}

// postOverAndOver posts a batch of events without an end, and wants it to be refused.
func postOverAndOver(body string) func(*assault) {
	return func(a *assault) {
		a.repeat(4, func() {
			resp, err := http.Post("http://"+a.address+"/v1/events:batch", "application/json",
				strings.NewReader(body))
			if err != nil {
				return // its connection made room
			}
			resp.Body.Close()
			a.sent.Add(1)
			if code := resp.StatusCode; code != http.StatusBadRequest &&
				code != http.StatusTooManyRequests {
				a.t.Errorf("HTTP status %d", code)
			}
		})
	}
}

// postGood asks for a list by JSON. A refusal for lack of room is an error with this code.
func (p *serverProcess) postGood(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.JSON+"/v1/recommend",
		strings.NewReader(`{"userId": "good"}`))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusTooManyRequests:
		return status.Error(codes.ResourceExhausted, "429")
	}
	return fmt.Errorf("HTTP status %d", resp.StatusCode)
}

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the longest message on standard input that is read, in bytes. Those of the tools take
// some hundred.
const maxLine = 1 << 20

// overLines is the transport of one message a line. A line that is no message is answered with an
// error, as JSON-RPC has it, and the next one is read: by itself the SDK would end the program.
func overLines(in io.Reader, out io.Writer) mcp.Transport {
	messages, into := io.Pipe()
	answers := &oneAtATime{out: out}
	go func() {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			line := lines.Bytes()
			var err error
			if answer := refusal(line); answer != nil {
				_, err = answers.Write(answer)
			} else if len(line) > 0 {
				_, err = into.Write(append(slices.Clip(line), '\n'))
			}
			if err != nil { // the program ends
				break
			}
		}
		_ = into.CloseWithError(lines.Err()) // nil ends the messages; it never fails
	}()
	return &mcp.IOTransport{Reader: messages, Writer: answers}
}

// refusal is the answer to a line that is no message; nil to others.
func refusal(line []byte) []byte {
	if len(line) == 0 {
		return nil
	}
	code, text := jsonrpc.CodeParseError, "the line is not JSON"
	if json.Valid(line) {
		_, err := jsonrpc.DecodeMessage(line)
		if err == nil {
			return nil
		}
		code, text = jsonrpc.CodeInvalidRequest, "the line is not a message of JSON-RPC 2.0"
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n",
		code, text)
}

// oneAtATime keeps the writes of goroutines apart.
type oneAtATime struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements [io.Writer].
func (w *oneAtATime) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// Close implements [io.Closer]: standard output stays open for the rest of the program.
func (w *oneAtATime) Close() error { return nil }

// Package compression lets clients compress their messages with gzip or zstd. Answers go out as
// they are: within one data centre bytes cost less than processor time, and the bound on answers
// that clients do not read counts the bytes that the codec has written.
//
// The limit of a message's size holds for what comes out: the gRPC library reads that much and no
// more. A message is inflated once all of it has come.
package compression

import (
	"context"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // registers itself
)

// maxWindow bounds the memory of a zstd decoder. Every decoder should support 8 MiB by RFC 8878,
// and encoders want no more below their slowest levels.
const maxWindow = 8 << 20

func init() { encoding.RegisterCompressor(new(zstdCompressor)) }

// AnswerPlain keeps the library from compressing the answers of a call as its request was. It must
// run before the first answer.
func AnswerPlain(ctx context.Context) {
	stream := grpc.ServerTransportStreamFromContext(ctx)
	if s, ok := stream.(interface{ RecvCompress() string }); ok && s.RecvCompress() == "" {
		return
	}
	// The only error is that the answer has begun, which then is compressed.
	_ = grpc.SetSendCompressor(ctx, encoding.Identity)
}

// zstdCompressor implements [encoding.Compressor].
type zstdCompressor struct{ readers, writers sync.Pool }

func (*zstdCompressor) Name() string { return "zstd" }

// Decompress implements [encoding.Compressor].
func (c *zstdCompressor) Decompress(r io.Reader) (io.Reader, error) {
	d, ok := c.readers.Get().(*zstd.Decoder)
	if !ok {
		var err error
		d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), // in the caller's goroutine
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
	}
	if err := d.Reset(r); err != nil {
		c.giveBack(d)
		return nil, err
	}
	return &zstdReader{d, c}, nil
}

// giveBack keeps a decoder, but not its source.
func (c *zstdCompressor) giveBack(d *zstd.Decoder) {
	if d.Reset(nil) == nil {
		c.readers.Put(d)
	}
}

// zstdReader is a decoder that the gRPC library closes when it has read the message.
type zstdReader struct {
	decoder *zstd.Decoder
	of      *zstdCompressor
}

func (r *zstdReader) Read(b []byte) (int, error) { return r.decoder.Read(b) }

// Close implements [io.Closer].
func (r *zstdReader) Close() error {
	r.of.giveBack(r.decoder)
	return nil
}

// Compress implements [encoding.Compressor], for clients in this program.
func (c *zstdCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	e, ok := c.writers.Get().(*zstd.Encoder)
	if !ok {
		var err error
		if e, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, err
		}
	}
	e.Reset(w)
	return &zstdWriter{e, c}, nil
}

// zstdWriter is an encoder that the gRPC library closes at the end of the message.
type zstdWriter struct {
	encoder *zstd.Encoder
	of      *zstdCompressor
}

func (w *zstdWriter) Write(b []byte) (int, error) { return w.encoder.Write(b) }

// Close implements [io.Closer].
func (w *zstdWriter) Close() error {
	err := w.encoder.Close()
	w.of.writers.Put(w.encoder)
	return err
}

package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/gsimc/gsimc/internal/file/safetensors"
)

// header is a parsed file, whose arrays are called tensors.
type header struct{ *safetensors.File }

// readHeader parses a file. Its errors name a remedy.
func readHeader(data []byte) (*header, error) {
	f, err := safetensors.Parse(data)
	if err != nil {
		advice := adviceDamaged
		if bad, ok := errors.AsType[*safetensors.Error](err); ok && bad.Foreign {
			advice = adviceForeign
		}
		return nil, &badFile{err, advice}
	}
	return &header{f}, nil
}

// badFile is the error of bytes that are no whole model file, with a remedy.
type badFile struct {
	problem error
	advice  string
}

func (e *badFile) Error() string { return fmt.Sprintf("%v; %s", e.problem, e.advice) }

func (e *badFile) Unwrap() error { return e.problem }

// dimensions takes n and k from the basis. The shapes of all other tensors are checked against
// them.
func (h *header) dimensions() (n, k int64, err error) {
	t, ok := h.Arrays["basis"]
	if !ok || len(t.Shape) != 2 {
		return 0, 0, errors.New(`there is no matrix "basis"`)
	}
	n, k = t.Shape[0], t.Shape[1]
	if k < 1 || k > n || n > math.MaxInt32 {
		return 0, 0, fmt.Errorf("the basis has %d items and rank %d, want 1 ≤ rank ≤ items ≤ %d",
			n, k, math.MaxInt32)
	}
	return n, k, nil
}

// verify compares the checksum in the header with the checksum of the file. It returns the version,
// the start of the checksum.
func (h *header) verify(data []byte) (version string, err error) {
	if bytes.Count(h.JSON, []byte(checksumMark)) != 1 {
		return "", &badFile{errors.New("the header has no checksum"), adviceForeign}
	}
	at := safetensors.LengthBytes + bytes.Index(h.JSON, []byte(checksumMark)) + len(checksumMark)
	end := at + checksumDigits
	if end > len(data)-len(h.Body) {
		return "", &badFile{errors.New("the checksum is cut short"), adviceDamaged}
	}
	hash := sha256.New()
	hash.Write(data[:at])
	hash.Write(bytes.Repeat([]byte{'0'}, checksumDigits))
	hash.Write(data[end:])
	if want := hex.EncodeToString(hash.Sum(nil)); string(data[at:end]) != want {
		return "", &badFile{errors.New("the checksum does not match"), adviceDamaged}
	}
	return string(data[at : at+versionDigits]), nil
}

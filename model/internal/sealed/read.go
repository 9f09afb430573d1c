package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/gsimc/gsimc/internal/file/safetensors"
)

// Verify compares the checksum in the header of f with the checksum of data, of which it was
// parsed. It returns the version, the start of the checksum. The error is a *[safetensors.Error].
func Verify(f *safetensors.File, data []byte) (version string, err error) {
	if bytes.Count(f.JSON, []byte(checksumMark)) != 1 {
		return "", foreign("the header has no checksum")
	}
	at := safetensors.LengthBytes + bytes.Index(f.JSON, []byte(checksumMark)) + len(checksumMark)
	end := at + checksumDigits
	if end > len(data)-len(f.Body) {
		return "", damaged("the checksum is cut short")
	}
	hash := sha256.New()
	hash.Write(data[:at])
	hash.Write(bytes.Repeat([]byte{'0'}, checksumDigits))
	hash.Write(data[end:])
	if want := hex.EncodeToString(hash.Sum(nil)); string(data[at:end]) != want {
		return "", damaged("the checksum does not match")
	}
	return string(data[at : at+versionDigits]), nil
}

func damaged(reason string) error { return &safetensors.Error{Reason: reason} }
func foreign(reason string) error { return &safetensors.Error{Reason: reason, Foreign: true} }

// ReadHead reads the metadata in the header of a file, and the version that it claims. A file
// without them gives a *[safetensors.Error], and with whole also one that is not as long as its
// header says. The rest may be damaged all the same.
func ReadHead(path string, whole bool) (meta map[string]string, version string, err error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() {
		return nil, "", foreign("not a regular file")
	}
	var length [safetensors.LengthBytes]byte
	if _, err := io.ReadFull(f, length[:]); err != nil {
		return nil, "", damaged(fmt.Sprintf("%d bytes long", info.Size()))
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > safetensors.MaxHeader || n > uint64(info.Size()) {
		return nil, "", foreign(fmt.Sprintf("the header claims %d bytes", n))
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(f, text); err != nil {
		return nil, "", damaged("the header is cut short")
	}
	var header struct {
		Meta map[string]string `json:"__metadata__"`
	}
	if err := json.Unmarshal(text, &header); err != nil {
		return nil, "", foreign("the header cannot be read")
	}
	checksum := header.Meta[checksumKey]
	if len(checksum) != checksumDigits {
		return nil, "", foreign("the header is not that of a model")
	}
	if whole {
		body := info.Size() - safetensors.LengthBytes - int64(n)
		if _, err := safetensors.ParseHeader(text, body); err != nil {
			return nil, "", err
		}
	}
	return header.Meta, checksum[:versionDigits], nil
}

// OpenFile opens a file to read it. It does not wait for a writer if the file is a pipe.
func OpenFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

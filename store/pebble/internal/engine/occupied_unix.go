//go:build unix

package engine

import (
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// blockBytes is the unit in which the system counts the blocks of a file.
const blockBytes = 512

// occupied returns the disk space of a file, with the blocks that are reserved beyond its end. If
// the file has several names, shared is true and id is the same under each of them.
func occupied(info vfs.FileInfo) (bytes int64, id fileID, shared bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok { // a file in memory
		return info.Size(), fileID{}, false
	}
	device := uint64(stat.Dev) //nolint:unconvert // int32 on some systems
	return stat.Blocks * blockBytes, fileID{device, stat.Ino}, stat.Nlink > 1
}

//go:build !amd64

package peak

var loops32, loops64 []Loop

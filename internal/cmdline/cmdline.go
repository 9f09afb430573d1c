package cmdline

import (
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Version returns the version of a program that the linker has set or else, of a binary that
// `go install MODULE@VERSION` or `go build` made, that of the build info.
func Version(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// Walk returns the command that words name, and the flag that wants a value after them; nil: none
// does.
func Walk(root *kong.Node, words []string) (node *kong.Node, wanting *kong.Flag) {
	node = root
	for _, word := range words {
		if word == "--" {
			return node, nil
		}
		if wanting != nil {
			wanting = nil
			continue
		}
		if strings.HasPrefix(word, "-") {
			wanting = findFlag(node, word)
			if wanting != nil && wanting.IsBool() {
				wanting = nil
			}
			continue
		}
		named := func(child *kong.Node) bool { return child.Name == word }
		if at := slices.IndexFunc(node.Children, named); at >= 0 {
			node = node.Children[at]
		}
	}
	return node, wanting
}

// findFlag returns the flag that a word names without its value; nil: there is none. A command that
// need not be named has flags before it is.
func findFlag(node *kong.Node, word string) *kong.Flag {
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	for _, level := range node.AllFlags(true) {
		for _, flag := range level {
			if word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short) {
				return flag
			}
		}
	}
	return nil
}

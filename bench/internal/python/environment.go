package python

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// requirements pins the packages of the Python package index that are measured.
//
//go:embed requirements.txt
var requirements []byte

// source pins the packages that a compiler has to build.
//
//go:embed source.txt
var source []byte

// Environment returns the interpreter of the virtual environment in dir, with the packages of
// requirements.txt. If it is not there, or has other packages, the first of the interpreters in
// bases that can makes it, by its modules venv and pip. pip downloads some 120 MB.
func Environment(ctx context.Context, dir string, bases []string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	interpreter := filepath.Join(dir, "bin", "python")
	installed := filepath.Join(dir, "requirements.txt") // written when all of it is there
	content, err := os.ReadFile(installed)
	if err == nil && bytes.Equal(content, requirements) {
		return interpreter, nil
	}
	if err := mayClear(dir); err != nil {
		return "", err
	}
	var failed []error
	for _, base := range bases {
		err := makeEnvironment(ctx, base, dir, installed)
		if err == nil {
			return interpreter, nil
		}
		failed = append(failed, fmt.Errorf("%s: %w", base, err))
	}
	if len(failed) == 0 {
		return "", errors.New("no Python interpreter to make it by")
	}
	return "", errors.Join(failed...)
}

// mayClear refuses a folder with files that are not those of a virtual environment.
func mayClear(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "pyvenv.cfg")); err != nil {
		return fmt.Errorf("%s has files and is no virtual environment: name another folder", dir)
	}
	return nil
}

// makeEnvironment leaves the file installed behind when it is complete.
func makeEnvironment(ctx context.Context, base, dir, installed string) error {
	if err := command(ctx, base, "-m", "venv", "--clear", dir); err != nil {
		return err
	}
	return install(ctx, dir, requirements, installed, "--only-binary", ":all:")
}

// compilers are the names that one for C++ goes by.
var compilers = []string{"c++", "g++", "clang++"}

// Compile adds the packages of source.txt to the environment in dir that Environment returned, if
// they are not there. They take their time to be built, and need a C++ compiler.
func Compile(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	installed := filepath.Join(dir, "source.txt") // written when all of it is there
	if content, err := os.ReadFile(installed); err == nil && bytes.Equal(content, source) {
		return nil
	}
	found := slices.ContainsFunc(compilers, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	if !found && os.Getenv("CXX") == "" {
		return errors.New("no C++ compiler to build it by")
	}
	return install(ctx, dir, source, installed, "--no-deps", "--no-build-isolation", "--no-binary",
		":all:")
}

// install lets pip install the packages that list pins, and keeps the list as the file installed
// when all of them are there.
func install(
	ctx context.Context, dir string, list []byte, installed string, flags ...string,
) error {
	wanted := filepath.Join(dir, "wanted.txt")
	if err := os.WriteFile(wanted, list, 0o600); err != nil {
		return err
	}
	args := append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--require-hashes", "--requirement", wanted}, flags...)
	if err := command(ctx, filepath.Join(dir, "bin", "python"), args...); err != nil {
		return err
	}
	return os.Rename(wanted, installed)
}

// command runs a program; its error ends with the last line that it wrote.
func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = stopTime
	written := new(output)
	cmd.Stdout, cmd.Stderr = written, written
	if err := cmd.Run(); err != nil {
		module := strings.Join(args[:min(2, len(args))], " ")
		return fmt.Errorf("%s: %w: %s", module, err, written.lastLine())
	}
	return nil
}

package fault

import (
	"errors"
	"reflect"
)

var joinType = reflect.TypeOf(errors.Join(errors.New("")))

// isJoin tells an error of errors.Join, whose text is that of its parts, from one of fmt.Errorf
// with several %w.
func isJoin(err error) bool { return reflect.TypeOf(err) == joinType }

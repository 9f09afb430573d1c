package data

import "testing"

// The speed is one that every machine of today reaches, a loaded one too.
func TestMeasuredSpeed(t *testing.T) {
	if speed, faster := MeasuredSpeed(); !(speed > 1e5 && speed < 1e15 && faster > 0) {
		t.Errorf("%v operations a second", speed)
	}
}

package valid

import "fmt"

// FieldSequence is the field of the numbers of a stream. A fault of it has a reason of its own.
const FieldSequence = "sequence"

// Error is a request with bad fields, at least one.
type Error struct{ Faults []Fault }

// Fault is one field that breaks its rule. Text never repeats the value of an id.
type Fault struct{ Field, Text string }

// Error names the first bad field and the number of further ones.
func (e *Error) Error() string {
	msg := e.Faults[0].Field + " " + e.Faults[0].Text
	if n := len(e.Faults) - 1; n > 0 {
		msg += fmt.Sprintf(" (and %d more)", n)
	}
	return msg
}

// Bad returns the [*Error] of one field.
func Bad(field, text string) error { return &Error{[]Fault{{field, text}}} }

// checker collects the faults of one request.
type checker struct{ faults []Fault }

// check notes a fault unless text is empty. The variants below put a path together only when there
// is a fault.
func (c *checker) check(field, text string) {
	if text != "" && len(c.faults) < maxFaults {
		c.faults = append(c.faults, Fault{field, text})
	}
}

// checkIn is check for the field parent+name.
func (c *checker) checkIn(parent, name, text string) {
	if text != "" {
		c.check(parent+name, text)
	}
}

// checkAt is check for element i of a list: its field is list[i].name, or list[i] without a name.
func (c *checker) checkAt(list string, i int, name, text string) {
	if text == "" {
		return
	}
	field := fmt.Sprintf("%s[%d]", list, i)
	if name != "" {
		field += "." + name
	}
	c.check(field, text)
}

// checkAll notes the faults of element i of a list.
func (c *checker) checkAll(list string, i int, of *checker) {
	for _, fault := range of.faults {
		c.checkAt(list, i, fault.Field, fault.Text)
	}
}

func (c *checker) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	return &Error{c.faults}
}

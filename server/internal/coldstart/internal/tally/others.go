package tally

import "strings"

// others number the items that a base does not know, while entries have them.
type others struct {
	base    int32 // number of the first one
	numbers map[string]int32
	items   []other // by number
	free    []int32 // numbers of no item
}

type other struct {
	name string
	used int // entries
}

// number is that of an item, which is to be used.
func (o *others) number(item string) int32 {
	if i, known := o.numbers[item]; known {
		return i
	}
	if len(o.free) == 0 {
		o.free = append(o.free, o.end())
		o.items = append(o.items, other{})
	}
	i := o.free[len(o.free)-1]
	o.free = o.free[:len(o.free)-1]
	item = strings.Clone(item)
	o.items[i-o.base], o.numbers[item] = other{name: item}, i
	return i
}

// find returns the number of an item, or -1 if no entry has it.
func (o *others) find(item string) int32 {
	if i, known := o.numbers[item]; known {
		return i
	}
	return -1
}

// name is the item of a number.
func (o *others) name(i int32) string { return o.items[i-o.base].name }

// use counts entries that have an item, or have it no more, if the base does not know it.
func (o *others) use(i int32, entries int) {
	if i < o.base {
		return
	}
	x := &o.items[i-o.base]
	if x.used += entries; x.used == 0 {
		delete(o.numbers, x.name)
		*x = other{}
		o.free = append(o.free, i)
	}
}

// end is above all numbers.
func (o *others) end() int32 { return o.base + int32(len(o.items)) }

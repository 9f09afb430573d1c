package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
)

// The measures of the picture, in pixels. Text is measured by its characters, since the font of the
// reader is not known: a character of the sans-serif fonts in use takes at most 0.55 of the size of
// the font on average.
const (
	columnWidth = 206
	gap         = 24 // between two columns, where the lines of items that stay run
	rowHeight   = 30
	headHeight  = 74
	footHeight  = 34
	edge        = 12
	fontSize    = 11
	rowChars    = 32 // characters of a title that fit a row
)

// The colours: an item that the newest like brought in, an item that was there before, the likes.
const (
	newFill, newText   = "#dceafb", "#0b5fb0"
	keptFill, keptText = "#f3f3f3", "#333333"
	likeColor          = "#c22f5e"
	lineColor          = "#b9b9b9"
)

// drawing returns an SVG with a column for each list. Lines join an item that two neighbouring
// lists have; an item that the list before does not have is coloured.
func drawing(lists []list, names titles, caption string) []byte {
	width := 2*edge + len(lists)*columnWidth + (len(lists)-1)*gap
	height := headHeight + rows*rowHeight + footHeight
	var b bytes.Buffer
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `,
		width,
		height,
		width,
		height,
	)
	fmt.Fprintln(&b,
		`font-family="-apple-system, 'Segoe UI', Helvetica, Arial, 'Liberation Sans', sans-serif">`)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#ffffff"/>`+"\n", width, height)
	for column, l := range lists {
		x := edge + column*(columnWidth+gap)
		head(&b, x, column, l, names)
		for row, item := range l.items {
			y := headHeight + row*rowHeight
			fill, color := newFill, newText
			before := -1
			if column > 0 {
				before = slices.Index(lists[column-1].items, item)
			}
			if column == 0 || before >= 0 {
				fill, color = keptFill, keptText
			}
			if before >= 0 {
				join(&b, x, y, before)
			}
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="%s"/>`+"\n",
				x, y, columnWidth, rowHeight-6, fill)
			text(&b, x+8, y+16, color, "normal", short(names.of(item)))
		}
	}
	text(&b, edge, height-12, "#777777", "normal", caption)
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

// head writes the top of a column: how many likes there were, and the newest.
func head(b *bytes.Buffer, x, column int, l list, names titles) {
	if l.liked == "" {
		text(b, x, 26, keptText, "bold", "A new user")
		text(b, x, 46, "#777777", "normal", "no likes yet: popular items")
		return
	}
	text(b, x, 26, likeColor, "bold", fmt.Sprintf("♥ like %d", column))
	text(b, x, 46, likeColor, "bold", short(names.of(l.liked)))
}

// join draws the line from the row of an item in the list before to the row that ends at (x, y).
func join(b *bytes.Buffer, x, y, before int) {
	middle := (rowHeight - 6) / 2
	from := headHeight + before*rowHeight + middle
	fmt.Fprintf(b,
		`<path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n",
		x-gap, from, x-gap/2, from, x-gap/2, y+middle, x, y+middle, lineColor)
}

func text(b *bytes.Buffer, x, y int, color, weight, content string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="%d" font-weight="%s" fill="%s">`,
		x, y, fontSize, weight, color)
	_ = xml.EscapeText(b, []byte(content)) // a buffer takes everything
	fmt.Fprintln(b, "</text>")
}

// short cuts a title that is longer than a row.
func short(title string) string {
	runes := []rune(title)
	if len(runes) <= rowChars {
		return title
	}
	return string(runes[:rowChars-1]) + "…"
}

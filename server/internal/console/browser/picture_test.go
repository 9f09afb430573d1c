package consoletest

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// smaller returns a picture of a screen in the 256 colours that it has most of, which is enough for
// text and plain areas.
func smaller(picture []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	bounds := full.Bounds()
	count := map[color.Color]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[color.RGBAModel.Convert(full.At(x, y))]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(key(a), key(b)))
	})
	few := image.NewPaletted(bounds, colors[:min(len(colors), 256)])
	index := map[color.Color]uint8{}
	for c := range count {
		index[c] = uint8(few.Palette.Index(c))
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			few.SetColorIndex(x, y, index[color.RGBAModel.Convert(full.At(x, y))])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few)
	return out.Bytes(), err
}

// key orders colours.
func key(c color.Color) uint32 {
	rgba := c.(color.RGBA)
	return uint32(rgba.R)<<16 | uint32(rgba.G)<<8 | uint32(rgba.B)
}

package call

import (
	"errors"
	"strconv"
	"strings"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// placeFlags say how the items of a list differ, and which stand where.
type placeFlags struct {
	MaxPerCategory int      `group:"Where:" default:"0" placeholder:"N" help:"The most items of each category on the list, 1 to 1000. 0: any number."`
	MaxNewItems    int      `group:"Where:" default:"0" placeholder:"N" help:"The most items on the list that the model was not trained on, 1 to 1000. 0: any number."`
	Lambda         float64  `group:"Where:" default:"1" placeholder:"X" help:"Below 1, prefer items that are unlike those before them: weight of the score, 0 to 1."`
	Pin            []string `group:"Where:" placeholder:"ITEM=PLACE,..." help:"Items at places of their own, the first place being 1."`
}

// check checks the flags.
func (f *placeFlags) check() error {
	_, err := f.pins()
	return errors.Join(err, cli.InRange("--max-per-category", float64(f.MaxPerCategory), 0, 1000),
		cli.InRange("--max-new-items", float64(f.MaxNewItems), 0, 1000),
		cli.InRange("--lambda", f.Lambda, 0, 1))
}

// given tells whether any of the flags says something.
func (f *placeFlags) given() bool { return f.diversity() != nil || len(f.Pin) > 0 }

// diversity is nil if the items need not differ.
func (f *placeFlags) diversity() *pb.Diversity {
	if f.MaxPerCategory == 0 && f.MaxNewItems == 0 && f.Lambda == 1 {
		return nil
	}
	return &pb.Diversity{MaxPerCategory: int32(f.MaxPerCategory),
		MaxNewItems: int32(f.MaxNewItems), Lambda: &f.Lambda}
}

func (f *placeFlags) pins() (pins []*pb.Pin, err error) {
	for _, text := range f.Pin {
		at := strings.LastIndexByte(text, '=')
		place, bad := strconv.ParseInt(text[at+1:], 10, 32)
		if at < 1 || bad != nil {
			return nil, cli.Flagf("--pin", "%q, want an item and its place, such as book-1=3", text)
		}
		pins = append(pins, &pb.Pin{ItemId: text[:at], Position: int32(place)})
	}
	return pins, nil
}

package sealed

import (
	"fmt"
	"strconv"

	"github.com/gsimc/gsimc/kalman"
)

// Format returns what stands in the metadata of a file for a field: a pointer to a string, float64,
// int64, int, bool or []kalman.Band. Numbers read back as the same numbers.
func Format(field any) string {
	switch v := field.(type) {
	case *string:
		return *v
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *int64:
		return strconv.FormatInt(*v, 10)
	case *int:
		return strconv.Itoa(*v)
	case *bool:
		return strconv.FormatBool(*v)
	case *[]kalman.Band:
		return kalman.FormatBands(*v)
	}
	panic(fmt.Sprintf("sealed: a field of type %T", field))
}

// ParseTo sets a field to what [Format] has made of it.
func ParseTo(field any, text string) (err error) {
	switch v := field.(type) {
	case *string:
		*v = text
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
	case *int64:
		*v, err = strconv.ParseInt(text, 10, 64)
	case *int:
		*v, err = strconv.Atoi(text)
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *[]kalman.Band:
		if text != "" {
			*v, err = kalman.ParseBands(text)
		}
	}
	return err
}

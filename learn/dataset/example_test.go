package dataset_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gsimc/gsimc/learn/dataset"
)

// Interactions are read from a file, divided 8:1:1 by user, and come back as histories over the
// items that training users have.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := dataset.Create(filepath.Join(dir, "events.csv.gz"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Abort()
	fmt.Fprintln(f, "user_id,item_id,timestamp")
	for user := range 10 {
		fmt.Fprintf(f, "user%d,tea,1700000020\nuser%d,milk,1700000010\nuser%d,tea,1700000030\n",
			user, user, user)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}

	d, report, err := dataset.Read([]string{filepath.Join(dir, "events.csv.gz")}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	p, err := d.Partition(dataset.SeededSplit(d.NumUsers(), 1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Rows, "rows,", report.Duplicates, "repeated")
	fmt.Println(p.Train.Len(), "training,", p.Validation.Len(), "validation and", p.Test.Len(),
		"test users")
	fmt.Println("items", p.Items, "first history", p.Train.Of(0), "at", p.Train.Times(0))
	// Output:
	// 30 rows, 10 repeated
	// 8 training, 1 validation and 1 test users
	// items [milk tea] first history [0 1] at [1700000010 1700000020]
}

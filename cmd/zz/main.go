package main

import (
	"fmt"
	"os"
	"time"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/dataset/synthetic"
	"github.com/gsimc/gsimc/evaluate"
	"github.com/gsimc/gsimc/spectral"
)

func main() {
	if len(os.Args) > 2 {
		w, err := dataset.Create(os.Args[1])
		if err != nil {
			panic(err)
		}
		t0 := time.Now()
		if err := synthetic.Generate(w, synthetic.Config{Users: 100000, Items: 20000, Events: 5000000, Seed: 1}, func(int64) {}); err != nil {
			panic(err)
		}
		fmt.Println(w.Close(), time.Since(t0))
		return
	}
	t0 := time.Now()
	d, _, err := dataset.Read([]string{os.Args[1]}, dataset.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println("read", time.Since(t0))
	s := dataset.SeededSplit(len(d.Users), 1)
	p, err := d.Partition(s)
	if err != nil {
		panic(err)
	}
	t0 = time.Now()
	b, err := spectral.Solve(evaluate.Incidence(p), spectral.Options{Graph: spectral.Graph{Kind: "hypergraph", DegreeExponent: 1}, Rank: 256, Progress: func(a, b int) { fmt.Println(a, b, time.Since(t0)) }})
	fmt.Println(time.Since(t0), err)
	fmt.Println(b.Report)
	fmt.Println(b.Kappa[:10], b.Kappa[200:256])
}

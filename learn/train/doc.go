// Package train makes a model of events, from the histories in memory to the model in memory.
//
// One training is a [Config] and a [dataset.Partition]:
//
//	cfg := train.Config{Spec: train.Recommended(), Seed: 1}
//	result, err := train.Run(partition, cfg)
//
// The other parts of the package serve the same step:
//
//   - [Recommended], [Paper] and [DefaultRank] are the presets; [Like] takes the constants of
//     another model.
//   - [Read] makes interactions of the histories of a store. Files are read by package dataset.
//   - [NewPlan] tells time and memory before a training.
//   - [HoldOut] keeps recent events from a training, and [HeldOut.Compare] ranks them by two
//     models.
//   - [Incidence], [Each] and [Histories] turn partitions into the arrays that packages spectral
//     and model take.
//   - [Summary] is the result of a training as JSON: a training that runs as a process prints it.
//
// # Conventions
//
// The package prints nothing, logs nothing and has no clock: a time that a model records is an
// argument, and so is the clock that measures the solver. A refused value is a [fault.Fault] that
// names a field. Memory is in bytes, times of events are in seconds since 1970. The same partition
// and configuration give the same model, bit for bit, on any number of processors.
package train

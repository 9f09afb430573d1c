// Package retrain has a server learn a new model from its own histories, again and again.
//
// A [Loop] makes one attempt after the other. An attempt
//
//  1. copies the store ([store.Checkpointer]),
//  2. runs a training on the copy as a process of its own, so that its memory is not the server's,
//  3. reads the [train.Summary] that the process prints as JSON, with the comparison of the new
//     model and the serving one on the latest events,
//  4. gives the new file the name of the old one and has the server load it, unless the new model
//     is worse; a file that the server refuses is rolled back.
//
// A fault in any step leaves file and server as they were. The end of an attempt is an [Outcome].
//
// The package knows neither the server's type nor how a command line is spelled: it takes
// interfaces and a function that builds the command.
package retrain

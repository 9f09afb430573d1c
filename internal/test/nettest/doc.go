// Package nettest has servers and addresses for tests, and hosts within one machine for tests of
// what a network does to programs.
//
// A [Host] is a network namespace with one interface, a TUN device. Its packets come to the test,
// which carries them to the other hosts, and loses or delays them as it is told: see
// [Network.Cut] and [Network.Set]. Nothing leaves the machine. Programs are started in a host by
// [Host.Do], and reached by [Host.Dial] from inside their host, so that no fault lies between a
// test and what it asks. Hosts need Linux and the rights to make namespaces; without them tests of
// them are skipped.
package nettest

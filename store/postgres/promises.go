package postgres

import (
	"fmt"

	"github.com/gsimc/gsimc/store"
)

// Promises implements store.Shared, by the settings that were found when the store was opened.
func (s *Store) Promises() []store.Promise {
	f := &s.found
	disk := fmt.Sprintf("yes: fsync = %s, full_page_writes = %s", onOff(f.fsync), onOff(f.pages))
	if !f.fsync || !f.pages || f.commit == "off" {
		disk = fmt.Sprintf("no: fsync = %s, full_page_writes = %s, synchronous_commit = %s",
			onOff(f.fsync), onOff(f.pages), f.commit)
	}
	both := fmt.Sprintf("synchronous_standby_names = '%s', synchronous_commit = %s", f.standbys,
		f.commit)
	machine, seen := "no: "+both, "no: "+both
	if f.check() == nil {
		machine = "yes: " + both
		seen = "yes, unless an administrator cancels a wait for the standby or empties " +
			"synchronous_standby_names; " + both
	}
	return []store.Promise{
		{Name: "acknowledged events survive the kill of all processes", Kept: "yes"},
		{Name: "acknowledged events survive a power cut of everything", Kept: disk},
		{Name: "acknowledged events survive the loss of a machine with its disk", Kept: machine},
		{Name: "what a reader has seen never vanishes", Kept: seen},
		{Name: "an acknowledged event is in the next answer of every server", Kept: "yes, if an " +
			"old primary that another one follows is fenced"},
		{Name: "a call over several users is atomic, and so is Rewrite", Kept: "yes"},
		{Name: "all users are read as of one moment", Kept: "yes"},
		{Name: "an erased user is erased in the next answer of every server", Kept: "yes"},
		{Name: "bytes of erased users leave the files", Kept: "after VACUUM FULL, the recycling " +
			"of the log, and the end of older backups"},
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

package engine

import (
	"sync"

	lsm "github.com/cockroachdb/pebble/v2"
)

// scheduler starts as many compactions as Pebble allows by itself, and none once damage is known:
// Pebble would try one that fails again and again, and can be told to stop at an opening only.
type scheduler struct {
	damage *damage
	db     lsm.DBForCompaction

	mu      sync.Mutex // not held while the engine is called
	running int
	closed  bool

	granting sync.Mutex // held while compactions are granted
	grants   sync.WaitGroup
}

var _ interface {
	lsm.CompactionScheduler
	lsm.CompactionGrantHandle
} = (*scheduler)(nil)

// Register implements [lsm.CompactionScheduler].
func (s *scheduler) Register(_ int, db lsm.DBForCompaction) { s.db = db }

// Unregister implements [lsm.CompactionScheduler]. It waits for calls of the engine under way.
func (s *scheduler) Unregister() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.grants.Wait()
	s.granting.Lock()
	defer s.granting.Unlock()
}

// TrySchedule implements [lsm.CompactionScheduler].
func (s *scheduler) TrySchedule() (bool, lsm.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.free() {
		return false, nil
	}
	s.running++
	return true, s
}

// free reports whether a compaction may begin.
func (s *scheduler) free() bool {
	return !s.closed && !s.damage.known.Load() && s.running < s.db.GetAllowedWithoutPermission()
}

// UpdateGetAllowedWithoutPermission implements [lsm.CompactionScheduler]. The caller holds locks of
// the engine.
func (s *scheduler) UpdateGetAllowedWithoutPermission() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free() {
		s.grants.Go(s.grant)
	}
}

// grant starts the compactions that have been waiting for others to end.
func (s *scheduler) grant() {
	s.granting.Lock()
	defer s.granting.Unlock()
	for {
		s.mu.Lock()
		free := s.free()
		s.mu.Unlock()
		if !free {
			return
		}
		if waiting, _ := s.db.GetWaitingCompaction(); !waiting || !s.db.Schedule(s) {
			return
		}
		s.mu.Lock()
		s.running++
		s.mu.Unlock()
	}
}

// Done implements [lsm.CompactionGrantHandle].
func (s *scheduler) Done() {
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	s.grant()
}

// Started implements [lsm.CompactionGrantHandle].
func (s *scheduler) Started() {}

// MeasureCPU implements [lsm.CompactionGrantHandle].
func (s *scheduler) MeasureCPU(lsm.CompactionGoroutineKind) {}

// CumulativeStats implements [lsm.CompactionGrantHandle].
func (s *scheduler) CumulativeStats(lsm.CompactionGrantHandleStats) {}

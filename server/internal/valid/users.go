package valid

import (
	"cmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// UserID checks the user_id of a request.
func UserID(id string) error {
	var c checker
	c.check("user_id", badID(id))
	return c.err()
}

// ListUserEvents checks a request.
func ListUserEvents(r *pb.ListUserEventsRequest) error {
	var c checker
	c.check("user_id", badID(r.GetUserId()))
	c.check("page_size", badPage(r.GetPageSize()))
	return c.err()
}

// BatchGetChanges checks a request.
func BatchGetChanges(r *pb.BatchGetChangesRequest) error {
	var c checker
	n := len(r.GetUsers())
	c.check("users", badCount(n, 1, maxChanged))
	for i, u := range r.GetUsers()[:min(n, maxChanged)] {
		c.checkAt("users", i, "user_id", badID(u.GetUserId()))
	}
	return c.err()
}

// RetractEvents checks a request.
func RetractEvents(r *pb.RetractEventsRequest) error {
	var c checker
	c.check("user_id", badID(r.GetUserId()))
	if len(r.GetEventIds())+len(r.GetItemIds()) == 0 {
		c.check("event_ids", "is required, or item_ids")
	}
	c.check("event_ids", badCount(len(r.GetEventIds()), 0, maxRetract))
	c.check("item_ids", badCount(len(r.GetItemIds()), 0, maxRetract))
	for i, id := range r.GetEventIds()[:min(len(r.GetEventIds()), maxRetract)] {
		c.checkAt("event_ids", i, "", cmp.Or(required(id), badText(id, MaxEventIDBytes)))
	}
	for i, id := range r.GetItemIds()[:min(len(r.GetItemIds()), maxRetract)] {
		c.checkAt("item_ids", i, "", badID(id))
	}
	return c.err()
}

// MergeUsers checks a request.
func MergeUsers(r *pb.MergeUsersRequest) error {
	var c checker
	c.check("source_user_id", badID(r.GetSourceUserId()))
	c.check("target_user_id", badID(r.GetTargetUserId()))
	if r.GetSourceUserId() == r.GetTargetUserId() {
		c.check("target_user_id", "must be another user than source_user_id")
	}
	return c.err()
}

// Package evaluate measures recommenders by the protocol of the field: the last item of each test
// user is the target, the items before it are the history, and the target is ranked among all items
// that are not in the history. Never among sampled negatives.
//
//	HR@N    share of users whose target has a rank of at most N
//	NDCG@N  mean of 1/log2(rank+1) for ranks of at most N, 0 for the others
//
// [ByTime] splits by time instead of by users, and ranks several events of a user.
//
// Ties go to the smaller item index, as they do when serving. Scores and states come from package
// model, in the same arithmetic as those of a server, so that a measured list is the served list.
package evaluate

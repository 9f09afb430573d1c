// Package tune searches the constants of a model on the validation users.
//
// A candidate is a set of constants; its score is NDCG@10 of the last few events of each validation
// user, every one ranked among all items that the user had not seen before it. Candidates with
// learned dynamics have the local term of package local, with its first constants and the best
// weight; the model chooses the others later. The users of the test set are never looked at.
//
// # What is shared
//
// A basis of the largest rank holds those of all smaller ranks, and so do the second moments of the
// regression (dynamics.Normal.Prefix). So the search goes from the dear to the cheap: for a graph
// all ranks and ridges are tried, then bands and exponents on the basis that is there. Scores of
// all positions come from one product of matrices.
//
// # The search
//
// One constant after the other is moved to the neighbours of its best value, as long as that helps.
// The order of trials depends on data and seed only: a budget decides where the search ends, and a
// log of earlier trials how fast it gets there.
package tune

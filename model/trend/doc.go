// Package trend counts how often items are taken now, beside their share of the training: the
// state of an item, as a Kalman state is that of a user.
//
// # Conventions
//
// Time is divided into spans of equal length, numbered by ⌊t/length⌋. n_bi is the number of users
// who took item i for the first time in span b, N_b the number of all such events up to the end of
// b. With the half-life H, in events, the faded count of an item after span s is
//
//	r_i = Σ_{b≤s} n_bi 2^(−(N_s−N_b)/H),    R = Σ_i r_i
//
// and with the share π_i of the item in the training, Σ_i π_i = 1, its trend is
//
//	g_i = ln((r_i + a)/(R π_i + a)),        a = [Prior]
//
// (r_i + a)/(R π_i + a) is the posterior mean of the factor by which the item is taken more often
// than in the training, if r_i is Poisson with the mean R π_i times the factor, and the factor is
// Gamma(a, a) before anything is seen: the conjugate prior, of mean 1. So few events say
// little, and none is expected of an item of which nothing is known: its g_i is 0.
//
// An item that was not in the training has another share and another exposure. π_i = D̂_i/Σd, with
// D̂_i of [Degrees.Expected]: the share that it would have in a training of which it was part from
// the beginning. And nobody could take it before it came, so r_i is Poisson with the mean E_i π_i
// times the factor,
//
//	E_i = R·Σ_{b_i≤b≤s} w_b / Σ_{b≤s} w_b,    g_i = ln((r_i + a)/(E_i π_i + a))
//
// with w_b the events of span b, faded as above, and b_i the span of the item's first event that is
// counted. Of an item that nobody has it is not known when it came, and E_i = R.
//
// Counts are integers, and so are the weights, in units of 2^-[fraction]. So a faded count depends
// on the events and not on their order: what servers count in parts adds up to the bit, an event
// that is taken back leaves no trace, and a count from the histories equals one from the stream.
//
// Counting by events and not by time needs no other constant where an audience grows or sleeps.
package trend

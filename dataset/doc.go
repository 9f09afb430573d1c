// Package dataset reads one-bit feedback ("user liked item") from files and
// prepares it for training and evaluation.
//
// # What is read
//
// Read takes CSV, TSV, JSON Lines and Parquet files, the text formats plain or
// compressed with gzip or zstd. Formats and compression are recognised by
// content, never by the file name alone. Every row is one interaction: a user
// id, an item id, and optionally a time and a weight. Columns are found by name
// (Options); further columns are ignored and their order is free.
//
// # Conventions
//
//   - Ids are opaque byte strings: 1 to MaxIDBytes bytes of valid UTF-8, taken
//     as they stand (no trimming, no case folding).
//   - Users and items are indexed from 0 in the bytewise order of their ids, so
//     that indices, and every tie broken by them, are the same whatever the
//     order of the rows.
//   - Times are whole seconds since 1970 (or any other count that rises, for
//     data without real times). Decimals are truncated towards zero.
//   - A user's history is sorted by time, ties keep the order of the files and
//     of the rows in them. Of a repeated item only the first event counts.
//   - Histories of all users lie one after the other in flat columns; Ptr says
//     where each begins, as in a compressed sparse row matrix.
//
// # Memory
//
// At its peak, reading holds 20 bytes an interaction (24 with weights) besides
// the ids; see columns for how. A row of a text file may be at most MaxRowBytes
// long, so that no input can make the reader grow without bound. Text is read in
// blocks, on all processors, which takes a few megabytes for each of them; what
// comes out, errors too, is in the order of the file.
//
// Data faults are returned as errors that name file, line, column and reason.
// Slices that do not fit together are a bug of the caller and panic.
package dataset

// Package dataset reads one-bit feedback ("user liked item") from files and prepares it for
// training and evaluation.
//
// # What is read
//
// Read takes CSV, TSV, JSON Lines and Parquet files. The text formats may be plain, compressed with
// gzip or zstd, or come from standard input. Every row is one interaction: a user id, an item id,
// and optionally a time, a weight and an event type. Columns are found by name (Options); further
// columns are ignored and their order is free.
//
// # What is recognised
//
// Files are read as they are. All of it can be set by Options, and the Report says what was found:
//
//   - Format and compression, by the content, never by the file name alone.
//   - The delimiter of CSV: the one of comma, tab, semicolon and bar that makes the wanted columns
//     of the header.
//   - The form of times: dates with or without a time of day, RFC 3339, or numbers, whose unit is
//     that of most numbers in the first rows of the file.
//   - Ordinals in place of times, see [Report.OrdinalTimes].
//   - A first row that is no header: an error that says how to name the columns.
//   - Columns of event types and of times that are not used, see [Report.UnusedTypeColumn].
//
// # Conventions
//
//   - Ids are opaque byte strings: 1 to event.MaxIDBytes bytes of valid UTF-8, taken as they stand
//     (no trimming, no case folding).
//   - Users and items are indexed from 0 in the bytewise order of their ids, so that indices, and
//     every tie broken by them, are the same for every order of the rows.
//   - Times are whole seconds since 1970. Times without a zone are UTC. Decimals are truncated
//     towards zero, fractions of the seconds of dates are cut off.
//   - A user's history is sorted by time, ties keep the order of the files and of the rows in them.
//     Of a repeated item only the first event counts, except in what [ReadEvents] returns.
//   - Histories of all users lie one after the other in flat columns; Ptr says where each begins,
//     as in a compressed sparse row matrix.
//
// # Memory
//
// At its peak, reading holds 20 bytes an interaction (24 with weights) besides the ids; see columns
// for how. A row of a text file may be at most MaxRowBytes long, so that no input can make the
// reader grow without bound. Text is read in blocks, on all processors, which takes a few megabytes
// for each of them. The rows and the errors come out in the order of the file.
//
// # Errors
//
// Data faults are errors that name file, line, column and reason: *RowError. Options that are out
// of range or do not fit a file are *fault.Fault with the name of the field. Slices that do not fit
// together are a bug of the caller and panic.
package dataset

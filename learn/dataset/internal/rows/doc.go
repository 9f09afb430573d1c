// Package rows reads the rows of data files: where a file is and how it is packed ([With],
// [Source]), what its fields are ([Form], [Reader], [Table], [Objects]), and what is wrong with a
// row ([Error]). It knows nothing of what the rows are for.
//
// CSV, TSV, JSON Lines and Parquet, plain, gzip or zstd, are recognised by their content. The
// memory that a file can make it use is bounded, whatever stands in the file.
package rows

// Package cli is dlock's command line: what people type during an incident
// and what scripts parse. Names, exit codes and JSON fields are a contract.
//
//	arguments, environment -> settings -> connect -> inspect -> table, JSON, prose
//
// The package holds no judgement about locks; it asks package inspect and
// prints the answer. Standard output carries data and nothing else; standard
// error carries talk and stays empty when all is well. Everything that came
// from Redis passes through package ui/text before it is printed, and no
// password, from wherever it came, is printed at all.
package cli

package fence

import "fmt"

// Dialect is the kind of database a [Guard] speaks to.
type Dialect int

// The dialects. The zero Dialect is none.
const (
	// PostgreSQL is PostgreSQL 9.5 or newer, with any driver that takes
	// $1-style placeholders.
	PostgreSQL Dialect = iota + 1
	// MySQL is MySQL or MariaDB with InnoDB.
	MySQL
	// SQLite is SQLite 3.24 or newer.
	SQLite
)

// String returns the dialect's name.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	case SQLite:
		return "SQLite"
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

// statements is what a Guard sends.
type statements struct {
	// schema creates the table unless it is there.
	schema string
	// probe returns one number if the table is there and can be read.
	probe string
	// seed, "" where it is not needed, makes sure that the resource has a
	// row, and locks it.
	seed string
	// record stores the token if it is above the newest, and says by the
	// number of rows it affected whether it was. Either way the row stays
	// locked until the transaction ends.
	record string
	// recordArgs are record's arguments.
	recordArgs func(resource []byte, token int64) []any
	// newest reads the newest token, as committed or as written by this
	// transaction, whatever the transaction's snapshot.
	newest string
}

// Resource names are stored as bytes in all dialects: text columns fold case,
// ignore trailing spaces or refuse NUL, each somewhere else, and two resources
// must never share a row.

func postgresStatements(table string) statements {
	return statements{
		schema: "CREATE TABLE IF NOT EXISTS " + table + " (resource BYTEA NOT NULL PRIMARY KEY, token BIGINT NOT NULL)",
		probe:  "SELECT COUNT(resource) + COUNT(token) FROM " + table + " WHERE 1 = 0",
		// The conflicting row is locked also when the WHERE turns it down.
		record: "INSERT INTO " + table + " AS f (resource, token) VALUES ($1, $2) " +
			"ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE f.token < excluded.token",
		recordArgs: resourceAndToken,
		newest:     "SELECT token FROM " + table + " WHERE resource = $1 FOR UPDATE",
	}
}

func sqliteStatements(table string) statements {
	return statements{
		schema: "CREATE TABLE IF NOT EXISTS " + table + " (resource BLOB NOT NULL PRIMARY KEY, token INTEGER NOT NULL)",
		probe:  "SELECT COUNT(resource) + COUNT(token) FROM " + table + " WHERE 1 = 0",
		// Being an INSERT it takes the database's write lock in any case.
		record: "INSERT INTO " + table + " AS f (resource, token) VALUES (?, ?) " +
			"ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE f.token < excluded.token",
		recordArgs: resourceAndToken,
		newest:     "SELECT token FROM " + table + " WHERE resource = ?",
	}
}

func mysqlStatements(table string) statements {
	return statements{
		schema: "CREATE TABLE IF NOT EXISTS " + table +
			" (resource VARBINARY(512) NOT NULL, token BIGINT NOT NULL, PRIMARY KEY (resource)) ENGINE = InnoDB",
		probe: "SELECT COUNT(resource) + COUNT(token) FROM " + table + " WHERE 1 = 0",
		// An upsert alone would not do: how many rows it reports for a row
		// left as it was depends on the client's clientFoundRows. An UPDATE
		// or SELECT … FOR UPDATE that finds no row would lock a gap that
		// others can lock too, and their inserts would deadlock.
		seed:   "INSERT INTO " + table + " (resource, token) VALUES (?, 0) ON DUPLICATE KEY UPDATE token = token",
		record: "UPDATE " + table + " SET token = ? WHERE resource = ? AND token < ?",
		recordArgs: func(resource []byte, token int64) []any {
			return []any{token, resource, token}
		},
		newest: "SELECT token FROM " + table + " WHERE resource = ? FOR UPDATE",
	}
}

func resourceAndToken(resource []byte, token int64) []any { return []any{resource, token} }

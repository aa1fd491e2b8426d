package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	_ "modernc.org/sqlite"

	"dlock/lockcore/fence"
)

// A holder that was paused is refused when it wakes up. The tokens are those
// of two grants of the same lock: 5, and 6 after the lease of 5 has ended.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE stock (id INTEGER PRIMARY KEY, amount INTEGER); INSERT INTO stock VALUES (42, 100)"); err != nil {
		log.Fatal(err)
	}

	guard, err := fence.New(fence.SQLite, "fence")
	if err != nil {
		log.Fatal(err)
	}
	if err := guard.Migrate(ctx, db); err != nil {
		log.Fatal(err)
	}
	sell := func(token int64) error {
		return guard.Do(ctx, db, "stock:42", token, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE stock SET amount = amount - 1 WHERE id = 42")
			return err
		})
	}

	fmt.Println("6:", sell(6))
	err = sell(5) // wakes up and still believes that it holds the lock
	fmt.Println("5 is stale:", errors.Is(err, fence.ErrStale))
	fmt.Println("6:", sell(6))

	var left int
	if err := db.QueryRow("SELECT amount FROM stock WHERE id = 42").Scan(&left); err != nil {
		log.Fatal(err)
	}
	fmt.Println("left:", left)
	// Output:
	// 6: <nil>
	// 5 is stale: true
	// 6: <nil>
	// left: 98
}

// In a transaction of one's own: ask first, then read, then write.
func ExampleGuard_AdmitOnce() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	guard, err := fence.New(fence.SQLite, "fence")
	if err != nil {
		log.Fatal(err)
	}
	if err := guard.Migrate(ctx, db); err != nil {
		log.Fatal(err)
	}

	pay := func(token int64) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := guard.AdmitOnce(ctx, tx, "invoice:7", token); err != nil {
			return err
		}
		// … read and write with tx …
		return tx.Commit()
	}

	fmt.Println(pay(1))
	fmt.Println(pay(1))
	// Output:
	// <nil>
	// stale fencing token: "invoice:7" has token 1 on record already, and each grant may write once
}

// Where a lock guards one row, the row can keep the fence itself.
func ExampleApplied() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT, fence BIGINT NOT NULL DEFAULT 0); INSERT INTO jobs (id) VALUES (7)"); err != nil {
		log.Fatal(err)
	}
	set := func(state string, token int64) error {
		result, err := db.Exec("UPDATE jobs SET state = ?1, fence = ?2 WHERE id = 7 AND fence <= ?2", state, token)
		if err != nil {
			return err
		}
		return fence.Applied(result)
	}

	fmt.Println(set("running", 6))
	fmt.Println(errors.Is(set("failed", 5), fence.ErrStale))
	fmt.Println(set("done", 6))
	// Output:
	// <nil>
	// true
	// <nil>
}

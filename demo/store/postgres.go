package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"dlock/lockcore/fence"
)

const (
	connectLimit  = 10 * time.Second
	dropLimit     = 30 * time.Second
	postgresConns = 16
)

func openPostgres(ctx context.Context, url string) (*Store, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, errors.New("the demo's store is SQLite or a postgres:// URL; what was given is neither")
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The driver's error repeats parts of the URL.
		return nil, errors.New("the URL of the demo's store cannot be read; write postgres://user@host:port/database and put the password into PGPASSWORD or a .pgpass file")
	}
	config.ConnectTimeout = connectLimit
	var random [6]byte
	rand.Read(random[:])
	schema := "dlock_demo_" + hex.EncodeToString(random[:])
	config.RuntimeParams["search_path"] = schema
	config.RuntimeParams["application_name"] = "dlock demo"

	guard, err := fence.New(fence.PostgreSQL, "fence")
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(postgresConns)
	db.SetMaxIdleConns(postgresConns)
	fail := func(err error) (*Store, error) {
		db.Close()
		return nil, without(config.Password, fmt.Errorf("the demo's store does not work: %w", err))
	}
	var version string
	if err := db.QueryRowContext(ctx, "SHOW server_version").Scan(&version); err != nil {
		return fail(err)
	}
	if _, err := db.ExecContext(ctx, "CREATE SCHEMA "+schema); err != nil {
		return fail(err)
	}
	return &Store{
		name: "PostgreSQL " + version, db: db, patient: db, forUpdate: " FOR UPDATE", guard: guard,
		drop: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), dropLimit)
			defer cancel()
			_, err := db.ExecContext(ctx, "DROP SCHEMA "+schema+" CASCADE")
			if err != nil {
				err = without(config.Password, fmt.Errorf("the demo's schema %s could not be dropped, drop it by hand: %w", schema, err))
			}
			return errors.Join(err, db.Close())
		},
	}, nil
}

// without takes a password out of an error.
func without(password string, err error) error {
	if password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), password, "***"))
}

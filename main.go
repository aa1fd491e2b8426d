// Command dlock shows, holds and releases distributed locks in Redis.
package main

import (
	"context"
	"os"

	"dlock/ui/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

//go:build !unix

package lab

import "errors"

// site stands for what redis-server nodes would share; there are none here.
type site struct{}

func openSite(string, []string) (*site, error) {
	return nil, errors.New("nodes of kind redis-server need Linux or macOS; use embedded nodes")
}

func (*site) newServer(string, int) server { panic("lab: a site that cannot be opened was used") }

func (*site) close() error { return nil }

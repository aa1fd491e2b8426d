package node

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// target is what a URL says.
type target struct {
	topology           Topology
	network            string // "tcp" or "unix", for Single
	addrs              []string
	master             string // for Sentinel
	username, password string
	db                 int // -1: the URL names none
	tls                *tls.Config
}

// display is how the target is shown; it holds no secret.
func (t target) display() string {
	addr := strings.Join(t.addrs, ",")
	if t.topology == Sentinel {
		return t.master + "@" + addr
	}
	return addr
}

const (
	hint         = "in a user name or password the characters # % / ? @ : must be percent-encoded"
	redisPort    = "6379"
	sentinelPort = "26379"
)

// parse reads a node URL. Its errors never contain any part of the URL, since
// every part of a mistyped URL may be a piece of a password.
func parse(rawURL string) (target, error) {
	rawURL, hosts := splitHosts(rawURL)
	u, err := url.Parse(rawURL)
	if err != nil {
		return target{}, errors.New("the URL cannot be read; it looks like redis://[user:password@]host[:port][/db], and " + hint)
	}
	if u.Fragment != "" || u.RawFragment != "" {
		return target{}, errors.New("the URL has a '#' in it; " + hint)
	}
	t := target{topology: Single, db: -1}
	if u.User != nil {
		t.username = u.User.Username()
		t.password, _ = u.User.Password()
	}
	query := u.Query()
	for name := range query {
		if name != "db" {
			return target{}, errors.New("the URL has an unknown parameter after '?'; only db=N is accepted there, and " + hint)
		}
	}
	db := query.Get("db")
	path := strings.Trim(u.Path, "/")

	switch u.Scheme {
	case "redis", "rediss":
		if len(hosts) > 1 {
			return target{}, errors.New("the URL lists several hosts; give --node once per independent server, or use redis+cluster:// or redis+sentinel://")
		}
		t.network = "tcp"
		if t.addrs, err = addresses(hosts, redisPort); err != nil {
			return target{}, err
		}
		if u.Scheme == "rediss" {
			host, _, _ := net.SplitHostPort(t.addrs[0])
			t.tls = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
		}
		if path != "" {
			if db != "" {
				return target{}, errors.New("the URL names the database twice, as a path and as db=N")
			}
			db = path
		}
	case "unix":
		if u.Host != "" || u.Path == "" {
			return target{}, errors.New("a unix URL needs an absolute path: unix:///run/redis.sock")
		}
		t.network, t.addrs = "unix", []string{u.Path}
	case "redis+sentinel":
		t.topology = Sentinel
		if t.addrs, err = addresses(hosts, sentinelPort); err != nil {
			return target{}, err
		}
		master, rest, _ := strings.Cut(path, "/")
		if master == "" {
			return target{}, errors.New("a sentinel URL needs the master's name: redis+sentinel://h1,h2,h3/mymaster/0")
		}
		t.master = master
		if rest != "" {
			db = rest
		}
	case "redis+cluster":
		t.topology = Cluster
		if t.addrs, err = addresses(hosts, redisPort); err != nil {
			return target{}, err
		}
		if path != "" && path != "0" {
			return target{}, errors.New("a cluster has only database 0; write redis+cluster://h1,h2,h3, and " + hint)
		}
	default:
		return target{}, errors.New("the URL must start with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
	}
	if db != "" {
		n, err := strconv.Atoi(db)
		if err != nil || n < 0 {
			return target{}, errors.New("the database in the URL is not a number; write redis://host:port/0, and " + hint)
		}
		t.db = n
	}
	return t, nil
}

// splitHosts takes the hosts out of a URL, since url.Parse knows only one. The
// URL that is left has one in their place.
func splitHosts(rawURL string) (string, []string) {
	scheme, rest, found := strings.Cut(rawURL, "://")
	if !found {
		return rawURL, nil
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	at := strings.LastIndexByte(authority, '@') + 1
	hosts := strings.Split(authority[at:], ",")
	if scheme == "unix" {
		return rawURL, hosts
	}
	first := hosts[0]
	return scheme + "://" + authority[:at] + first + rest[end:], hosts
}

// addresses completes hosts with a port.
func addresses(hosts []string, port string) ([]string, error) {
	var out []string
	for _, h := range hosts {
		u, err := url.Parse("redis://" + h)
		if err != nil || u.User != nil {
			return nil, errors.New("the URL has a host that cannot be read; " + hint)
		}
		host, p := u.Hostname(), u.Port()
		if host == "" {
			host = "127.0.0.1"
		}
		if p == "" {
			p = port
		}
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, errors.New("the URL has a port that is not between 1 and 65535; " + hint)
		}
		out = append(out, net.JoinHostPort(host, p))
	}
	return out, nil
}

// Mask returns a node's URL as it may be shown: complete, and with [hidden] in
// place of its password. The error is that of [Open].
func Mask(rawURL string) (string, error) {
	t, err := parse(rawURL)
	if err != nil {
		return "", err
	}
	scheme, _, _ := strings.Cut(rawURL, "://")
	var b strings.Builder
	b.WriteString(strings.ToLower(scheme) + "://")
	switch {
	case t.password != "":
		b.WriteString(t.username + ":[hidden]@")
	case t.username != "":
		// It may be a password that lost its colon.
		b.WriteString("[hidden]@")
	}
	b.WriteString(strings.Join(t.addrs, ","))
	if t.topology == Sentinel {
		b.WriteString("/" + t.master)
	}
	switch {
	case t.db < 0:
	case t.network == "unix":
		b.WriteString("?db=" + strconv.Itoa(t.db))
	default:
		b.WriteString("/" + strconv.Itoa(t.db))
	}
	return b.String(), nil
}

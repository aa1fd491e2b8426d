package cli

import (
	"crypto/tls"
	"strings"

	"dlock/lockcore/node"
)

const maxPEM = 1 << 20

// tlsConfig reads what the settings say about TLS, nil for the defaults.
func (s *settings) tlsConfig() (*tls.Config, error) {
	parts := node.TLSParts{ServerName: s.sni, Insecure: s.insecure}
	names := []string{"sni", "insecure"}
	given := s.sni != "" || s.insecure
	for _, one := range []struct {
		flag, file string
		to         *[]byte
	}{{"cacert", s.cacert, &parts.CA}, {"cert", s.cert, &parts.Cert}, {"key", s.key, &parts.Key}} {
		if one.file == "" {
			continue
		}
		given, names = true, append(names, one.flag)
		data, _, err := readSmall(one.file, maxPEM)
		if err != nil {
			return nil, usage("%s: the file cannot be read: %s", s.origins[one.flag], osReason(err))
		}
		if len(data) == 0 {
			return nil, usage("%s: the file is empty", s.origins[one.flag])
		}
		*one.to = data
	}
	if !given {
		return nil, nil
	}
	if !s.encrypts() {
		for _, name := range names {
			if s.origins[name].kind != "" {
				return nil, usage("%s is about TLS and no node uses it; add --tls, or write rediss://", s.origins[name])
			}
		}
	}
	config, err := parts.Config()
	if err != nil {
		var where []string
		for _, name := range names {
			if s.origins[name].kind != "" && name != "sni" && name != "insecure" {
				where = append(where, s.origins[name].String())
			}
		}
		return nil, usage("%s: %s", strings.Join(where, ", "), err)
	}
	return config, nil
}

// encrypts reports whether TLS is used with some node.
func (s *settings) encrypts() bool {
	if s.tls {
		return true
	}
	for _, url := range s.nodes {
		if strings.HasPrefix(strings.ToLower(url), "rediss:") {
			return true
		}
	}
	return false
}

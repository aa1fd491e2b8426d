package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is the part of JSON Schema that the schemas of docs use. It is
// stricter than the standard in one point: a property that the schema does not
// name is an error, so that no field goes out undocumented.
type schema map[string]any

func publishedSchema(t testing.TB) schema { return namedSchema(t, "ls") }

// namedSchema reads a schema of docs. What it takes from that of ls stands in it
// as if it were its own.
func namedSchema(t testing.TB, name string) schema {
	t.Helper()
	raw, err := os.ReadFile("../../docs/" + name + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if name != "ls" {
		ls := publishedSchema(t)
		s["$defs"] = ls["$defs"]
		for _, p := range s["properties"].(map[string]any) {
			p := p.(map[string]any)
			if from, ok := strings.CutPrefix(fmt.Sprint(p["$ref"]), "ls.schema.json#/properties/"); ok {
				delete(p, "$ref")
				maps.Copy(p, ls["properties"].(map[string]any)[from].(map[string]any))
			}
		}
	}
	return s
}

func (root schema) def(name string) schema {
	return schema(root["$defs"].(map[string]any)[name].(map[string]any))
}

// check returns what is wrong with v, as paths and reasons.
func (root schema) check(s schema, path string, v any) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, path+": "+fmt.Sprintf(format, args...)) }
	for word := range s {
		if !slices.Contains([]string{"$schema", "$defs", "$ref", "title", "description", "type", "required", "properties", "items", "enum", "const", "minimum", "pattern", "oneOf"}, word) {
			fault("the schema uses %s, which this check does not know", word)
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		faults = append(faults, root.check(root.def(strings.TrimPrefix(ref, "#/$defs/")), path, v)...)
	}
	if want, ok := s["const"]; ok && !reflect.DeepEqual(want, v) {
		fault("is %v, not %v", v, want)
	}
	if words, ok := s["enum"].([]any); ok && !slices.Contains(words, v) {
		fault("%v is not one of %v", v, words)
	}
	if choices, ok := s["oneOf"].([]any); ok {
		n := 0
		for _, c := range choices {
			if len(root.check(schema(c.(map[string]any)), path, v)) == 0 {
				n++
			}
		}
		if n != 1 {
			fault("%v matches %d of oneOf", v, n)
		}
	}
	if want, ok := s["type"]; ok && !slices.Contains(asList(want), any(typeOf(v))) {
		fault("is %s, not %v", typeOf(v), want)
		return faults
	}
	switch v := v.(type) {
	case float64:
		if least, ok := s["minimum"].(float64); ok && v < least {
			fault("%v is below %v", v, least)
		}
	case string:
		if pattern, ok := s["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(v) {
			fault("%q does not match %s", v, pattern)
		}
	case []any:
		if items, ok := s["items"].(map[string]any); ok {
			for i, item := range v {
				faults = append(faults, root.check(schema(items), fmt.Sprintf("%s[%d]", path, i), item)...)
			}
		}
	case map[string]any:
		properties, ok := s["properties"].(map[string]any)
		if !ok {
			break // described by the reference
		}
		for name, value := range v {
			p, ok := properties[name].(map[string]any)
			if !ok {
				fault("the field %s is not in the schema", name)
				continue
			}
			faults = append(faults, root.check(schema(p), path+"."+name, value)...)
		}
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				fault("the field %s is missing", name)
			}
		}
		if len(required) != len(properties) {
			fault("the schema requires %d of %d fields", len(required), len(properties))
		}
	}
	return faults
}

func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
	}
	return "number"
}

// wantDocument fails unless out is one document as the schema of ls describes
// it, wantJSON as that of another command.
func wantDocument(t testing.TB, out string) {
	t.Helper()
	wantJSON(t, "ls", out)
}

func wantJSON(t testing.TB, name, out string) {
	t.Helper()
	root := namedSchema(t, name)
	var doc any
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Errorf("no JSON: %v\n%s", err, out)
		return
	}
	for _, fault := range root.check(root, "$", doc) {
		t.Error(fault)
	}
}

func TestTheSchemaCheckFinds(t *testing.T) {
	root := publishedSchema(t)
	good := invocation{args: []string{"ls", "-o", "json"}, fake: &fakeInspector{snapshot: everyKind()}}.run(t).out
	for _, c := range []struct{ old, new string }{
		{`"schema": 1`, `"schema": 2`},
		{`"complete": false`, `"complete": null`},
		{`"fence": 12`, `"fence": 1.5`},
		{`"state": "split"`, `"state": "lost"`},
		{`"error": null`, `"err": null`},
		{`"at": "2026-03-04T05:06:07.089Z"`, `"at": "2026-03-04T05:06:07Z"`},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if bad == good {
			t.Fatalf("%s is not in the document", c.old)
		}
		var doc any
		if err := json.Unmarshal([]byte(bad), &doc); err != nil {
			t.Fatal(err)
		}
		if len(root.check(root, "$", doc)) == 0 {
			t.Errorf("%s passed", c.new)
		}
	}
}

func TestJSONMatchesThePublishedSchema(t *testing.T) {
	for _, args := range [][]string{{"ls", "-o", "json"}, {"get", "-o", "json", "lock:orders:42", "lock:redisson", `"lock:\xff\xfe"`, "nowhere"}} {
		e := invocation{args: args, fake: &fakeInspector{snapshot: everyKind()}}.run(t)
		wantDocument(t, e.out)
	}
}

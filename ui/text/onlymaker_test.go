package text_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A conversion like text.Safe(x) outside this package would let foreign bytes
// past the cleaner, so only literals may be converted.
func TestOnlyLiteralsAreConvertedElsewhere(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == filepath.Join(root, "ui", "text") {
			return nil
		}
		for _, at := range conversions(t, path, nil) {
			t.Errorf("%s: a value is converted to text.Safe; use text.Clean, or a literal", at)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestConversionsAreFound(t *testing.T) {
	const header = "package x\nimport %s\"dlock/ui/text\"\n"
	for body, want := range map[string]int{
		`var a = text.Safe("x")`:                      0,
		`var a text.Safe = "x"`:                       0,
		`var a = text.Safe(key)`:                      1,
		`var a = (text.Safe)(key)`:                    1,
		`var a = []text.Safe{text.Safe("x" + key)}`:   1,
		`func f() { g(text.Clean(k), text.Safe(k)) }`: 1,
	} {
		src := strings.Replace(header, "%s", "", 1) + body
		if got := conversions(t, "x.go", src); len(got) != want {
			t.Errorf("%s: found %v, want %d", body, got, want)
		}
	}
	if got := conversions(t, "x.go", strings.Replace(header, "%s", "tx ", 1)+"var a = tx.Safe(key)"); len(got) != 1 {
		t.Errorf("an import by another name hides a conversion: %v", got)
	}
}

// conversions returns where a Go file converts anything but a literal to Safe.
// src is what parser.ParseFile takes.
func conversions(t *testing.T, path string, src any) (found []token.Position) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Logf("%s is not valid Go at the moment: %v", path, err)
		return nil
	}
	name := ""
	for _, imported := range file.Imports {
		if p, err := strconv.Unquote(imported.Path.Value); err == nil && p == "dlock/ui/text" {
			name = "text"
			if imported.Name != nil {
				name = imported.Name.Name
			}
		}
	}
	if name == "" {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != "Safe" {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); !ok || pkg.Name != name {
			return true
		}
		if _, literal := call.Args[0].(*ast.BasicLit); !literal {
			found = append(found, files.Position(call.Pos()))
		}
		return true
	})
	return found
}

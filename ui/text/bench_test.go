package text

import (
	"strings"
	"testing"
)

var benchKeys = []struct{ name, key string }{
	{"ascii60", "lock:orders:2024-11-05:customer-000123456:shipment:eu-west-1"},
	{"han", "lock:注文:二千二十四年十一月五日:顧客番号:出荷:東京"},
	{"accents", "lock:réservation:numéro-000123456:expédition:Île-de-France"},
	{"hostile", "lock:\x1b[2J\x1b]0;owned\x07:\u202eorders\u202c:\xff\xfe:\n42"},
}

func BenchmarkCleanFitMiddle(b *testing.B) {
	for _, k := range benchKeys {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				FitMiddle(Clean(k.key), 40)
			}
		})
	}
}

func BenchmarkCleanMax(b *testing.B) {
	big := strings.Repeat("lock:\x1b[2J", 8000)
	b.ReportAllocs()
	for b.Loop() {
		CleanMax(big, 120)
	}
}

func BenchmarkQuote(b *testing.B) {
	for _, k := range benchKeys {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Quote(k.key)
			}
		})
	}
}

func BenchmarkOverlay(b *testing.B) {
	frame := make([]string, 36)
	for i := range frame {
		frame[i] = PadStyled("\x1b[1m HELD \x1b[0m lock:注文:42 \x1b[36m"+string(Bar(0.7, 20, false))+"\x1b[0m web-3:4711", 120)
	}
	box := make([]string, 16)
	for i := range box {
		box[i] = PadStyled("│ \x1b[33mlock:orders:42\x1b[0m held by web-3", 59) + "│"
	}
	b.ReportAllocs()
	for b.Loop() {
		Overlay(frame, box, 30, 10)
	}
}

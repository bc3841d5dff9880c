// SPDX-License-Identifier: Apache-2.0 OR MIT

package post

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// The set a-4files-even of the vectors: 4 files of 128 labels, N = 2.
const (
	labelsPerFile = 128
	n             = 2
)

func vectors(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HF_VECTORS")
	if dir == "" {
		t.Skip("HF_VECTORS is not set")
	}
	return filepath.Join(dir, "space", "post", "a-4files-even")
}

type metadata struct {
	NodeId, CommitmentAtxId string
	Nonce                   uint64
}

func identity(t *testing.T, dir string) (*Identity, metadata) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postdata_metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m metadata
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	id := &Identity{Units: 2}
	for _, f := range []struct {
		to   []byte
		from string
	}{{id.Node[:], m.NodeId}, {id.Commitment[:], m.CommitmentAtxId}} {
		b, err := base64.StdEncoding.DecodeString(f.from)
		if err != nil {
			t.Fatal(err)
		}
		copy(f.to, b)
	}
	copy(id.Challenge[:], "hello world, challenge me!!!!!!!")
	return id, m
}

// BLAKE3 of node id and commitment ATX id; were it wrong, no label would fit.
func commitment(t *testing.T) []byte {
	t.Helper()
	b, err := hex.DecodeString("dee085412708dade902076ce57339c4e2f7124d65de7c7838e53b69b554e7df7")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func config() *Config {
	c := &Config{K1: 20, K2: 20, MinUnits: 1, MaxUnits: 4, LabelsPerUnit: 256, N: n}
	for i := range c.PowDifficulty {
		c.PowDifficulty[i] = 0xff
	}
	return c
}

func TestMain(m *testing.M) {
	if !StartLogging(5) || StartLogging(1) {
		fmt.Println("the callback is set once")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestVersion(t *testing.T) {
	for _, pattern := range []string{`0\.7\.(\d+)`, `0\.8\.(\d+)`} {
		if !regexp.MustCompile(pattern).MatchString(Version()) {
			t.Errorf("%s does not match %s", Version(), pattern)
		}
	}
}

func TestProviders(t *testing.T) {
	list, err := Providers()
	if err != nil {
		t.Fatal(err)
	}
	last := list[len(list)-1]
	if last.ID != CPU || last.GPU || !strings.HasPrefix(last.Name, "[CPU]") {
		t.Errorf("the last provider is %+v", last)
	}
	if _, err := NewInitializer(77, 2, make([]byte, 32), nil); err == nil {
		t.Error("there is no provider 77")
	}
	told := strings.Join(Logged(), "\n")
	if !strings.Contains(told, "no provider 77") {
		t.Errorf("the log does not say why: %s", told)
	}
}

// One initializer is held over the four files; two goroutines use it at once.
func TestInitializeFourFiles(t *testing.T) {
	dir := vectors(t)
	_, m := identity(t, dir)
	vrf := make([]byte, 32)
	vrf[0] = 4 // 8 * 2^256 / 512
	i, err := NewInitializer(CPU, n, commitment(t), vrf)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	var wg sync.WaitGroup
	for g := 0; g < 2; g++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for file := uint64(0); file < 4; file++ {
				want, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("postdata_%d.bin", file)))
				if err != nil {
					t.Error(err)
					return
				}
				got, nonce, err := i.Labels(file*labelsPerFile, (file+1)*labelsPerFile-1)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("file %d differs: %v", file, err)
				}
				if m.Nonce/labelsPerFile == file && (nonce == nil || *nonce != m.Nonce) {
					t.Errorf("nonce of file %d: %v", file, nonce)
				}
			}
		}()
	}
	wg.Wait()
}

func TestVerifyPos(t *testing.T) {
	dir := vectors(t)
	if _, _, good, err := VerifyPos(dir, 100, n); err != nil || !good {
		t.Errorf("a good set: %v, %v", good, err)
	}
	if file, offset, good, err := VerifyPos(dir, 100, 4); err != nil || good || file != 0 || offset != 0 {
		t.Errorf("another N: file %d, offset %d, %v, %v", file, offset, good, err)
	}
	if _, _, _, err := VerifyPos(filepath.Join(dir, "nowhere"), 5, n); err == nil {
		t.Error("no folder, no error")
	}
}

// Proofs are made, verified and spoiled while others initialise, and a ticker
// of the Go runtime keeps its time: no call takes more than its own thread.
func TestManyGoroutines(t *testing.T) {
	dir := vectors(t)
	id, _ := identity(t, dir)
	v, err := NewVerifier()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for g := 0; g < 4; g++ {
		wg.Add(2)
		go func(g int) {
			defer wg.Done()
			p, err := Prove(dir, id.Challenge[:], config(), 16, uint(g%2))
			if err != nil {
				t.Error(err)
				return
			}
			if err := v.Verify(p, id, config(), 0, nil); err != nil {
				t.Error(err)
			}
			if err := v.Verify(p, id, config(), 5, []byte("seed")); err != nil {
				t.Error(err)
			}
			for at := range p.Indices { // every index another one
				p.Indices[at] ^= 0x55
			}
			var index InvalidIndexError
			if err := v.Verify(p, id, config(), 0, nil); !errors.As(err, &index) || index.Index > 19 {
				t.Errorf("a spoiled proof: %v", err)
			}
			p.Nonce = 4096
			if err := v.Verify(p, id, config(), 0, nil); !errors.Is(err, ErrInvalid) {
				t.Errorf("nonce 4096: %v", err)
			}
		}(g)
		go func(g int) {
			defer wg.Done()
			i, err := NewInitializer(CPU, 512, bytes.Repeat([]byte{byte(g)}, 32), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer i.Close()
			if _, _, err := i.Labels(0, 2000); err != nil {
				t.Error(err)
			}
		}(g)
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	begin, ticks := time.Now(), 0
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for running := true; running; {
		select {
		case <-ticker.C:
			ticks++
		case <-done:
			running = false
		}
	}
	due := int(time.Since(begin) / (10 * time.Millisecond))
	if ticks < due/4 {
		t.Errorf("%d ticks of %d came", ticks, due)
	}
}

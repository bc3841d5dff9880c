// SPDX-License-Identifier: Apache-2.0 OR MIT

// Package post shows how a Go program uses libpost: the calls are those of the
// present library, so a program that has them needs no change.
//
// Build with CGO_CFLAGS=-I<folder of post.h> and CGO_LDFLAGS=-L<folder of
// libpost.so>.
package post

/*
#cgo LDFLAGS: -lpost
#include <stdlib.h>
#include <post.h>

extern void goPostLog(ExternCRecord *record);

static void tell(const ExternCRecord *record)
{
    goPostLog((ExternCRecord *)record);
}

static int32_t start_logging(Level level)
{
    return set_logging_callback(level, tell);
}
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// CPU is the number of the CPU provider.
const CPU = uint32(C.CPU_PROVIDER_ID)

// Version of the library.
func Version() string { return C.GoString(C.version()) }

// StartLogging asks for all records up to a level, 1 (error) to 5 (trace).
func StartLogging(level int) bool {
	return C.start_logging(C.Level(level)) == 0
}

// Provider computes labels.
type Provider struct {
	ID   uint32
	Name string
	GPU  bool
}

// Providers lists what this machine has.
func Providers() ([]Provider, error) {
	list := make([]C.Provider, C.get_providers_count())
	if r := C.get_providers(&list[0], C.uintptr_t(len(list))); r != C.InitializeResult_Ok {
		return nil, fmt.Errorf("get_providers: %d", r)
	}
	out := make([]Provider, 0, len(list))
	for i := range list {
		out = append(out, Provider{
			ID:   uint32(list[i].id),
			Name: C.GoString(&list[i].name[0]),
			GPU:  list[i].class_ == C.DeviceClass_GPU,
		})
	}
	return out, nil
}

// Initializer is held over any number of ranges; any goroutine may use it.
type Initializer struct{ c *C.Initializer }

// NewInitializer readies a provider. vrfDifficulty may be nil.
func NewInitializer(provider uint32, n uint, commitment, vrfDifficulty []byte) (*Initializer, error) {
	if len(commitment) != 32 || (vrfDifficulty != nil && len(vrfDifficulty) != 32) {
		return nil, errors.New("32 bytes are wanted")
	}
	var vrf *C.uint8_t
	if vrfDifficulty != nil {
		vrf = (*C.uint8_t)(&vrfDifficulty[0])
	}
	c := C.new_initializer(C.uint32_t(provider), C.uintptr_t(n), (*C.uint8_t)(&commitment[0]), vrf)
	if c == nil {
		return nil, errors.New("new_initializer failed: see the log")
	}
	return &Initializer{c}, nil
}

// Close gives the provider back.
func (i *Initializer) Close() {
	C.free_initializer(i.c)
	i.c = nil
}

// Labels start to end, both included; nonce is nil if none was found.
func (i *Initializer) Labels(start, end uint64) (labels []byte, nonce *uint64, err error) {
	if end < start || end-start > 1<<30 {
		return nil, nil, errors.New("no such range")
	}
	labels = make([]byte, 16*(end-start+1))
	var found C.uint64_t
	switch r := C.initialize(i.c, C.uint64_t(start), C.uint64_t(end), (*C.uint8_t)(&labels[0]), &found); r {
	case C.InitializeResult_Ok:
		v := uint64(found)
		return labels, &v, nil
	case C.InitializeResult_OkNonceNotFound:
		return labels, nil, nil
	default:
		return nil, nil, fmt.Errorf("initialize: %d", r)
	}
}

// Config of proofs and of the set.
type Config struct {
	K1, K2             uint32
	PowDifficulty      [32]byte
	MinUnits, MaxUnits uint32
	LabelsPerUnit      uint64
	N                  uint
}

func (c *Config) proof() (out C.ProofConfig) {
	out.k1, out.k2 = C.uint32_t(c.K1), C.uint32_t(c.K2)
	for i, b := range c.PowDifficulty {
		out.pow_difficulty[i] = C.uint8_t(b)
	}
	return out
}

func (c *Config) init() (out C.InitConfig) {
	out.min_num_units, out.max_num_units = C.uint32_t(c.MinUnits), C.uint32_t(c.MaxUnits)
	out.labels_per_unit = C.uint64_t(c.LabelsPerUnit)
	out.scrypt = C.ScryptParams{n: C.uintptr_t(c.N), r: 1, p: 1}
	return out
}

// Proof of space.
type Proof struct {
	Nonce   uint32
	Indices []byte
	Pow     uint64
}

// Prove blocks until a proof is found.
func Prove(dir string, challenge []byte, c *Config, nonces, threads uint) (*Proof, error) {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	p := C.generate_proof(path, (*C.uchar)(&challenge[0]), c.proof(), C.uintptr_t(nonces),
		C.uintptr_t(threads), C.recommended_pow_flags())
	if p == nil {
		return nil, errors.New("generate_proof failed: see the log")
	}
	defer C.free_proof(p)
	return &Proof{
		Nonce:   uint32(p.nonce),
		Indices: C.GoBytes(unsafe.Pointer(p.indices.ptr), C.int(p.indices.len)),
		Pow:     uint64(p.pow),
	}, nil
}

// Identity says whose proof it is and for what.
type Identity struct {
	Node, Commitment, Challenge [32]byte
	Units                       uint32
}

// Verifier holds the memory that verification needs; any goroutine may use it.
type Verifier struct{ c *C.Verifier }

// NewVerifier takes its memory, 256 MiB, at once.
func NewVerifier() (*Verifier, error) {
	v := &Verifier{}
	if r := C.new_verifier(C.recommended_pow_flags(), &v.c); r != C.NewVerifierResult_Ok {
		return nil, fmt.Errorf("new_verifier: %d", r)
	}
	return v, nil
}

// Close gives the memory back.
func (v *Verifier) Close() { C.free_verifier(v.c) }

// ErrInvalid is a proof that does not hold.
var ErrInvalid = errors.New("the proof is invalid")

// InvalidIndexError is a proof of which one label does not hold.
type InvalidIndexError struct{ Index uint64 }

func (e InvalidIndexError) Error() string { return fmt.Sprintf("index %d is invalid", e.Index) }

func bytes32(out *[32]C.uint8_t, in [32]byte) {
	for i, b := range in {
		out[i] = C.uint8_t(b)
	}
}

// Verify checks all indices of a proof, or k3 of them picked by a seed.
func (v *Verifier) Verify(p *Proof, id *Identity, c *Config, k3 uint, seed []byte) error {
	var m C.ProofMetadata
	bytes32(&m.node_id, id.Node)
	bytes32(&m.commitment_atx_id, id.Commitment)
	bytes32(&m.challenge, id.Challenge)
	m.num_units = C.uint32_t(id.Units)
	indices := C.CBytes(p.Indices)
	defer C.free(indices)
	proof := C.Proof{nonce: C.uint32_t(p.Nonce), pow: C.uint64_t(p.Pow)}
	proof.indices = C.ArrayU8{ptr: (*C.uint8_t)(indices), len: C.uintptr_t(len(p.Indices)),
		cap: C.uintptr_t(len(p.Indices))}
	var r C.VerifyResult
	if k3 == 0 {
		r = C.verify_proof(v.c, proof, &m, c.proof(), c.init())
	} else {
		var at *C.uint8_t
		if len(seed) > 0 {
			at = (*C.uint8_t)(&seed[0])
		}
		r = C.verify_proof_subset(v.c, proof, &m, c.proof(), c.init(), C.uintptr_t(k3), at,
			C.uintptr_t(len(seed)))
	}
	runtime.KeepAlive(seed)
	switch r.tag {
	case C.VerifyResult_Ok:
		return nil
	case C.VerifyResult_Invalid:
		return ErrInvalid
	case C.VerifyResult_InvalidIndex:
		return InvalidIndexError{binary.LittleEndian.Uint64(r.anon0[:])}
	default:
		return fmt.Errorf("verify_proof: %d", r.tag)
	}
}

// VerifyPos checks a sample of the stored labels, fraction in percent. It
// returns the first bad file and byte.
func VerifyPos(dir string, fraction float64, n uint) (file, offset uint64, good bool, err error) {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	r := C.verify_pos(path, nil, nil, C.double(fraction), C.ScryptParams{n: C.uintptr_t(n), r: 1, p: 1})
	switch r.tag {
	case C.VerifyPosResult_Ok:
		return 0, 0, true, nil
	case C.VerifyPosResult_Invalid:
		return binary.LittleEndian.Uint64(r.anon0[:8]), binary.LittleEndian.Uint64(r.anon0[8:]), false, nil
	default:
		return 0, 0, false, fmt.Errorf("verify_pos: %d", r.tag)
	}
}

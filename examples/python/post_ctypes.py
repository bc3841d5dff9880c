#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A host of libpost in Python: labels, a proof and its verification.

    post_ctypes.py libpost.so

Calls that block give other Python threads their turn, since ctypes lets go of
the interpreter's lock. With holdfast's libpost the added functions are found
as well, and tell why something fails and how far it is.
"""
import base64
import ctypes as c
import json
import pathlib
import sys
import threading
import time

CPU = 0xFFFFFFFF
ROOT = pathlib.Path(__file__).resolve().parents[2]
SET = ROOT / "tests/vectors/space/post/a-4files-even"


class Provider(c.Structure):
    _fields_ = [("name", c.c_char * 64), ("id", c.c_uint32),
                ("class_", c.c_int)]


class ScryptParams(c.Structure):
    _fields_ = [("n", c.c_size_t), ("r", c.c_size_t), ("p", c.c_size_t)]


class ArrayU8(c.Structure):
    _fields_ = [("ptr", c.POINTER(c.c_uint8)), ("len", c.c_size_t),
                ("cap", c.c_size_t)]


class Proof(c.Structure):
    _fields_ = [("nonce", c.c_uint32), ("indices", ArrayU8),
                ("pow", c.c_uint64)]


class ProofConfig(c.Structure):
    _fields_ = [("k1", c.c_uint32), ("k2", c.c_uint32),
                ("pow_difficulty", c.c_uint8 * 32)]


class InitConfig(c.Structure):
    _fields_ = [("min_num_units", c.c_uint32), ("max_num_units", c.c_uint32),
                ("labels_per_unit", c.c_uint64), ("scrypt", ScryptParams)]


class ProofMetadata(c.Structure):
    _fields_ = [("node_id", c.c_uint8 * 32),
                ("commitment_atx_id", c.c_uint8 * 32),
                ("challenge", c.c_uint8 * 32), ("num_units", c.c_uint32)]


class VerifyResult(c.Structure):
    _fields_ = [("tag", c.c_int), ("index_id", c.c_size_t)]


class VerifyPosResult(c.Structure):
    _fields_ = [("tag", c.c_int), ("file", c.c_size_t),
                ("offset", c.c_uint64)]


class Error(c.Structure):  # hf_error
    _fields_ = [("code", c.c_int), ("os_code", c.c_int32),
                ("message", c.c_char * 252), ("cause", c.c_char * 252)]


class Progress(c.Structure):  # hf_progress
    _fields_ = [("size", c.c_size_t), ("phase", c.c_char_p),
                ("unit", c.c_char_p), ("done", c.c_uint64),
                ("total", c.c_uint64), ("rate", c.c_double),
                ("elapsed_ms", c.c_uint64), ("remaining_ms", c.c_uint64),
                ("finished", c.c_bool)]


def load(path):
    """The library with its functions' types."""
    lib = c.CDLL(path)
    pointer, u32, u64, size = c.c_void_p, c.c_uint32, c.c_uint64, c.c_size_t
    config = (ProofConfig, size, size, u32)
    judged = (pointer, Proof, c.POINTER(ProofMetadata), ProofConfig,
              InitConfig)
    for name, result, arguments in (
            ("version", c.c_char_p, ()),
            ("get_providers_count", size, ()),
            ("get_providers", c.c_int, (c.POINTER(Provider), size)),
            ("new_initializer", pointer, (u32, size, c.c_char_p, c.c_char_p)),
            ("initialize", c.c_int,
             (pointer, u64, u64, c.c_char_p, c.POINTER(u64))),
            ("free_initializer", None, (pointer,)),
            ("generate_proof", c.POINTER(Proof),
             (c.c_char_p, c.c_char_p, *config)),
            ("free_proof", None, (c.POINTER(Proof),)),
            ("recommended_pow_flags", u32, ()),
            ("new_verifier", c.c_int, (u32, c.POINTER(pointer))),
            ("free_verifier", None, (pointer,)),
            ("verify_proof", VerifyResult, judged),
            ("verify_proof_index", VerifyResult, (*judged, size)),
            ("verify_pos", VerifyPosResult,
             (c.c_char_p, pointer, pointer, c.c_double, ScryptParams)),
            ("hf_post_version", c.c_char_p, ()),
            ("hf_post_generate_proof_start", c.c_int,
             (c.POINTER(pointer), c.c_char_p, c.c_char_p, *config,
              c.POINTER(Error))),
            ("hf_post_job_progress", c.c_int, (pointer, c.POINTER(Progress))),
            ("hf_post_job_wait", c.c_int, (pointer, u64, c.POINTER(Error))),
            ("hf_post_job_cancel", None, (pointer,)),
            ("hf_post_job_free", None, (pointer,)),
            ("hf_post_generate_proof_result", c.c_int,
             (pointer, c.POINTER(c.POINTER(Proof)), c.POINTER(Error)))):
        function = getattr(lib, name, None)
        if function is None and name.startswith("hf_post_"):
            continue  # another libpost
        function.restype, function.argtypes = result, arguments
    return lib


def want(right, what):
    if not right:
        sys.exit(f"post_ctypes: {what}")


def config():
    return ProofConfig(20, 20, (c.c_uint8 * 32)(*[255] * 32))


def labels(lib):
    """Against the files of the set: one initializer over all of them."""
    vectors = json.loads((ROOT / "tests/vectors/space/labels.json")
                         .read_text(encoding="utf-8"))
    for record in vectors["labels"][:40]:
        commitment = bytes.fromhex(record["commitment"])
        maker = lib.new_initializer(CPU, record["n"], commitment, None)
        want(maker, "no initializer")
        out = c.create_string_buffer(16)
        index = int(record["index"])
        want(lib.initialize(maker, index, index, out, None) == 0,
             "initialize failed")
        want(out.raw.hex() == record["label16"], f"label {index} differs")
        lib.free_initializer(maker)


def metadata():
    text = json.loads((SET / "postdata_metadata.json")
                      .read_text(encoding="utf-8"))
    m = ProofMetadata(num_units=2)
    for field, key in (("node_id", "NodeId"),
                       ("commitment_atx_id", "CommitmentAtxId")):
        setattr(m, field, (c.c_uint8 * 32)(*base64.b64decode(text[key])))
    m.challenge = (c.c_uint8 * 32)(*b"hello world, challenge me!!!!!!!")
    return m


def proof(lib):
    """A proof, and what the verifier says of it before and after a change."""
    flags = lib.recommended_pow_flags()
    m = metadata()
    made = lib.generate_proof(str(SET).encode(), bytes(m.challenge), config(),
                              16, 0, flags)
    want(made, "no proof")
    verifier = c.c_void_p()
    want(lib.new_verifier(flags, c.byref(verifier)) == 0, "no verifier")
    init = InitConfig(1, 4, 256, ScryptParams(2, 1, 1))

    def judge():
        return lib.verify_proof(verifier, made[0], c.byref(m), config(), init)

    want(judge().tag == 0, "the proof does not hold")
    made[0].indices.ptr[0] ^= 255
    changed = judge()
    want(changed.tag == 2 and changed.index_id == 0, "a change is not seen")
    lib.free_proof(made)
    lib.free_verifier(verifier)


def job(lib):
    """A proof that never ends is watched and told to stop."""
    error, handle = Error(), c.c_void_p()
    never = config()
    never.pow_difficulty = (c.c_uint8 * 32)()
    want(lib.hf_post_generate_proof_start(
        c.byref(handle), str(SET).encode(), bytes(32), never, 16, 0, 0,
        c.byref(error)) == 0, error.message)
    progress = Progress(size=c.sizeof(Progress))
    for _ in range(600):
        want(lib.hf_post_job_progress(handle, c.byref(progress)) == 0,
             "no progress")
        if progress.phase == b"work" and progress.done > 0:
            break
        time.sleep(0.05)
    want(progress.phase == b"work", f"the job is at {progress.phase}")
    lib.hf_post_job_cancel(handle)
    want(lib.hf_post_job_wait(handle, 20000, c.byref(error)) == 8,
         "the job was not cancelled")
    lib.hf_post_job_free(handle)


def main():
    lib = load(sys.argv[1])
    print("libpost", lib.version().decode())
    count = lib.get_providers_count()
    found = (Provider * count)()
    want(lib.get_providers(found, count) == 0, "no providers")
    for p in found:
        print(f"provider {p.id}: {p.name.decode()}")
    ticks, stop = [0], threading.Event()

    def tick():
        while not stop.wait(0.01):
            ticks[0] += 1

    begin = time.monotonic()
    ticker = threading.Thread(target=tick)
    ticker.start()
    labels(lib)
    proof(lib)
    r = lib.verify_pos(str(SET).encode(), None, None, 100.0,
                       ScryptParams(2, 1, 1))
    want(r.tag == 0, "the stored labels are not good")
    if hasattr(lib, "hf_post_version"):
        print("holdfast", lib.hf_post_version().decode())
        job(lib)
    stop.set()
    ticker.join()
    due = (time.monotonic() - begin) / 0.01
    want(ticks[0] > due / 8, f"{ticks[0]} of {due:.0f} ticks came")
    print("all is as it should be")


main()

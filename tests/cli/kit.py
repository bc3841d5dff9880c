# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of the tool share: a folder, a way to run it, sets."""
import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOOL = os.environ["HOLDFAST"]
VECTORS = pathlib.Path(os.environ["HF_VECTORS"])
EASY = "ff" * 32       # a work step that the first hash meets
ID = "11" * 32
ATX = "22" * 32
CHALLENGE = "33" * 32
# With these, and one nonce group, nearly every first pass gives a proof: the
# work step of more groups would be most of the time of these tests.
RULES = ("--k1", 26, "--k2", 26)
GUARD = 300            # seconds after which a run hangs


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def lines(self):
        """The JSON objects of standard output, each with one member."""
        objects = [json.loads(line) for line in self.out.splitlines()]
        for o in objects:
            assert len(o) == 1, o
        return objects

    def last(self, name):
        last = self.lines()[-1]
        assert name in last, last
        return last[name]


def environment(**more):
    env = {k: v for k, v in os.environ.items()
           if k not in ("NO_COLOR", "TERM", "LC_ALL", "LANG")}
    env.update(LC_ALL="C.UTF-8", TERM="dumb")
    env.update(more)
    return env


def digest(folder):
    """Name, mode, time and content of every file: for "nothing changed"."""
    return {p.name: (p.stat().st_mode, p.stat().st_mtime_ns,
                     hashlib.sha256(p.read_bytes()).hexdigest())
            for p in sorted(pathlib.Path(folder).iterdir())}


def contents(folder):
    """Content of metadata and data files."""
    return {p.name: p.read_bytes()
            for p in sorted(pathlib.Path(folder).iterdir())
            if p.name.startswith("postdata_")}


def hex_of(b64):
    return base64.b64decode(b64).hex()


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-cli-"))
        self.tmp.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.tmp, True)
        self.dir = self.tmp / "set"

    def start(self, *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
              env=None, **more):
        return subprocess.Popen([TOOL, *map(str, args)], stdout=stdout,
                                stderr=stderr, cwd=self.tmp,
                                env=env or environment(),
                                **{"stdin": subprocess.DEVNULL, **more})

    def run_tool(self, *args, code=0, stdin=None, **more):
        """Runs the tool; its exit code must be `code` (None: any)."""
        r = subprocess.run([TOOL, *map(str, args)], capture_output=True,
                           cwd=self.tmp, input=stdin, timeout=GUARD,
                           env=environment(), **more)
        result = Result(r.returncode, r.stdout.decode(), r.stderr.decode())
        if code is not None:
            self.assertEqual(result.code, code,
                             f"{args}\n{result.out}\n{result.err}")
        return result

    def finish(self, process):
        out, err = process.communicate(timeout=GUARD)
        return Result(process.returncode, (out or b"").decode(),
                      (err or b"").decode())

    def make(self, folder=None, *more, code=0, labels=1024, units=1, n=2,
             size=4096):
        return self.run_tool(
            "space", "init", folder or self.dir, "--id", ID,
            "--commitment-atx", ATX, "--units", units, "--labels-per-unit",
            labels, "--scrypt-n", n, "--max-file-size", size, *more, code=code)

    def prove(self, folder=None, *more, code=0, out="proof.json",
              rules=(*RULES, "--nonces", 16)):
        return self.run_tool(
            "space", "prove", folder or self.dir, "--challenge", CHALLENGE,
            "--pow-difficulty", EASY, "--randomx", "light", "--out", out,
            *rules, *more, code=code)

    def verify(self, *more, folder=None, code=0, proof="proof.json",
               rules=RULES):
        where = () if folder is False else (folder or self.dir,)
        return self.run_tool("space", "verify", *where, "--proof", proof,
                             "--pow-difficulty", EASY, *rules, *more,
                             code=code)

    def vector(self, name):
        """A writable copy of a set that the reference tool made."""
        target = self.tmp / name
        shutil.copytree(VECTORS / "space/post" / name, target)
        target.chmod(0o700)
        for p in target.iterdir():
            p.chmod(0o600)
        return target


def wait_for(condition, seconds=GUARD):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


__all__ = ["ATX", "CHALLENGE", "Case", "EASY", "GUARD", "ID", "RULES",
           "Result",
           "TOOL", "VECTORS", "base64", "contents", "digest", "environment",
           "hashlib", "hex_of", "json", "os", "pathlib", "re", "shutil",
           "signal", "subprocess", "time", "unittest", "wait_for"]

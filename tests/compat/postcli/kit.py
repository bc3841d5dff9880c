# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of postcli share: folders, a way to run it, sets."""
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

POSTCLI = os.environ["POSTCLI"]
POST = pathlib.Path(os.environ["HF_VECTORS"]) / "space/post"
# The sets that the reference tool made, and their N, which they do not tell.
SETS = {"a-4files-even": 2, "b-3files-uneven": 16,
        "c-1file-not-multiple-of-8": 4, "d-n8192": 8192}
CPU = 4294967295
ID, ATX = "11" * 32, "22" * 32
META = "postdata_metadata.json"
GUARD = 300            # seconds after which a run hangs
DATED = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d .")


def contents(folder):
    """Content of metadata and data files."""
    return {p.name: p.read_bytes()
            for p in sorted(pathlib.Path(folder).iterdir())
            if p.name.startswith("postdata_")}


def digest(folder):
    """Name, mode, time and content of every file: for "nothing changed"."""
    return {p.name: (p.stat().st_mode, p.stat().st_mtime_ns,
                     hashlib.sha256(p.read_bytes()).hexdigest())
            for p in sorted(pathlib.Path(folder).iterdir())}


def flags_of(name):
    """The flags that the set was made with, but for -datadir and -yes."""
    meta = json.loads((POST / name / META).read_text())
    ids = [base64.b64decode(meta[k]).hex()
           for k in ("NodeId", "CommitmentAtxId")]
    return ["-provider", CPU, "-id", ids[0], "-commitmentAtxId", ids[1],
            "-numUnits", meta["NumUnits"], "-labelsPerUnit",
            meta["LabelsPerUnit"], "-maxFileSize", meta["MaxFileSize"],
            "-scryptN", SETS[name]]


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-postcli-"))
        self.addCleanup(shutil.rmtree, self.tmp, True)
        self.dir = self.tmp / "set"

    def environment(self):
        return {**os.environ, "HOME": str(self.tmp / "home"), "LC_ALL": "C",
                "TZ": "UTC"}

    def start(self, *args, **more):
        return subprocess.Popen(
            [POSTCLI, *map(str, args)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=self.tmp, env=self.environment(),
            **{"stdin": subprocess.DEVNULL, **more})

    def finish(self, process, stdin=None):
        out, err = process.communicate(stdin, timeout=GUARD)
        return Result(process.returncode, out.decode(), err.decode())

    def run_tool(self, *args, code=0, answers=None, **more):
        """Runs it with the answers as standard input (None: no input)."""
        if answers is not None:
            more["stdin"] = subprocess.PIPE
        r = self.finish(self.start(*args, **more),
                        None if answers is None else answers.encode())
        self.assertEqual(r.code, code, f"{args}\n{r.out}\n{r.err}")
        return r

    def set_flags(self, folder=None, labels=256, units=2, n=2, size=2048,
                  identity=True, **other):
        """Flags of a small set of four files; other=None leaves one out."""
        flags = {"datadir": folder or self.dir, "provider": CPU,
                 "id": ID if identity else None, "commitmentAtxId": ATX,
                 "numUnits": units, "labelsPerUnit": labels,
                 "maxFileSize": size, "scryptN": n, **other}
        return [a for k, v in flags.items() if v is not None
                for a in (f"-{k}", v)]

    def make(self, *more, code=0, folder=None, preexec_fn=None, **flags):
        return self.run_tool(*self.set_flags(folder, **flags), "-yes", *more,
                             code=code, preexec_fn=preexec_fn)

    def vector(self, name):
        """A writable copy of a set that the reference tool made."""
        target = self.tmp / name
        shutil.copytree(POST / name, target)
        target.chmod(0o700)
        for p in target.iterdir():
            p.chmod(0o600)
        return target

    def assert_dated(self, err):
        for line in err.splitlines():
            self.assertRegex(line, DATED)


__all__ = ["ATX", "CPU", "Case", "GUARD", "ID", "META", "POST", "POSTCLI",
           "SETS", "contents", "digest", "flags_of", "hashlib", "json", "os",
           "pathlib", "re", "shutil", "signal", "subprocess", "time",
           "unittest"]

# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the fault tests share: one set, made undisturbed once, and runs of it."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

META = "postdata_metadata.json"
SIDECAR = "holdfast.json"


class Failure(Exception):
    pass


def check(holds, text):
    if not holds:
        raise Failure(text)


class Set:
    def __init__(self, program, shim, shape, workers=1):
        """shape: units, labels a unit, bytes a file, N, batch, checkpoint"""
        self.program, self.shim, self.shape = program, shim, shape
        self.workers = workers
        self.root = tempfile.mkdtemp(prefix="holdfast-fault-")
        self.dir = os.path.join(self.root, "set")
        whole = os.path.join(self.root, "whole")
        result = self.run(whole)
        check(result["status"] == "HF_OK", "undisturbed run: %s" % result)
        self.expected = {n: self.read(os.path.join(whole, n))
                         for n in os.listdir(whole) if n != SIDECAR}
        shutil.rmtree(whole)

    def close(self):
        shutil.rmtree(self.root)

    @staticmethod
    def read(path):
        with open(path, "rb") as f:
            return f.read()

    def command(self, directory=None):
        return [self.program, directory or self.dir] + \
            [str(n) for n in self.shape] + [str(self.workers)]

    def environment(self, **shim):
        env = dict(os.environ)
        if shim:
            env["LD_PRELOAD"] = self.shim
            env["HF_SHIM_DIR"] = self.dir
            # A sanitizer that is not the first library is told to bear it.
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + \
                env.get("ASAN_OPTIONS", "")
        for key, value in shim.items():
            env["HF_SHIM_" + key.upper()] = str(value)
        return env

    def run(self, directory=None, **shim):
        """Runs to the end; the program's report, or None if it was killed."""
        p = subprocess.run(self.command(directory), stdout=subprocess.PIPE,
                           env=self.environment(**shim), timeout=120)
        if p.returncode == -signal.SIGKILL:
            return None
        check(p.returncode == 0, "the program ended with %d" % p.returncode)
        return json.loads(p.stdout)

    def clear(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def put(self, files):
        self.clear()
        os.mkdir(self.dir, 0o700)
        for name, data in files.items():
            with open(os.path.join(self.dir, name), "wb") as f:
                f.write(data)

    def files(self):
        if not os.path.isdir(self.dir):
            return {}
        return {n: self.read(os.path.join(self.dir, n))
                for n in os.listdir(self.dir)}

    def labels_stored(self):
        return sum(len(d) // 16 for n, d in self.files().items()
                   if n.endswith(".bin"))

    def check_complete(self):
        """All as undisturbed, nothing else but the sidecar."""
        files = self.files()
        check(SIDECAR in files, "there is no sidecar")
        side = json.loads(files.pop(SIDECAR))
        check("pending" not in side, "pending at the end: %s" % side)
        check(sorted(files) == sorted(self.expected),
              "files: %s" % sorted(files))
        for name, data in self.expected.items():
            check(files[name] == data, "%s differs" % name)

    def finish(self):
        """The next run, undisturbed, completes."""
        result = self.run()
        check(result["status"] == "HF_OK", "next run: %s" % result)
        self.check_complete()
        return result

    def check_prefixes(self, start=None):
        """What a stopped or failed run left: each file a valid prefix, or as
        it was at the start."""
        for name, data in self.files().items():
            if name.endswith(".bin") and data != (start or {}).get(name):
                whole = len(data) // 16 * 16
                check(data[:whole] == self.expected[name][:whole],
                      "%s is no prefix" % name)

    def check_meta(self, old):
        """The old metadata, byte for byte, or valid new ones."""
        now = self.files().get(META)
        if now == old:
            return
        check(now is not None, "the metadata are gone")
        new = json.loads(now)
        good = json.loads(self.expected[META])
        for key in ("NodeId", "CommitmentAtxId", "LabelsPerUnit", "NumUnits",
                    "MaxFileSize"):
            check(new[key] == good[key], "metadata: %s" % now)


def main(test):
    """test(program, shim, full): prints what it did, raises Failure."""
    program, shim = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    try:
        test(program, shim, "full" in sys.argv[3:])
    except Failure as e:
        print("FAILED: %s" % e)
        sys.exit(1)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ending early: signals, deadline, a reader that went away, a second writer."""
from kit import *

STOP_WITHIN = 10     # seconds, promised
# Long enough to be met in the middle, short enough to be finished.
LABELS, N = 1 << 18, 256
SET = ("--id", ID, "--commitment-atx", ATX, "--units", 1,
       "--labels-per-unit", LABELS, "--scrypt-n", N, "--max-file-size",
       "64KiB")


class Stop(Case):
    def begin(self, *more, **kw):
        return self.start("space", "init", self.dir, *SET, *more, **kw)

    def stored(self):
        return sum(p.stat().st_size for p in self.dir.glob("*.bin"))

    def in_the_middle(self, process):
        self.assertTrue(wait_for(lambda: self.stored() > 0 or
                                 process.poll() is not None))
        self.assertIsNone(process.poll(), "it was done before it was stopped")

    def stop(self, process, *signals):
        begin = time.monotonic()
        # Stopped meanwhile, it finds all of them at once.
        os.kill(process.pid, signal.SIGSTOP)
        for s in signals:
            os.kill(process.pid, s)
        os.kill(process.pid, signal.SIGCONT)
        r = self.finish(process)
        self.assertLess(time.monotonic() - begin, STOP_WITHIN)
        return r

    def assert_valid(self):
        """Every file a prefix, in order; metadata there."""
        json.loads((self.dir / "postdata_metadata.json").read_text())
        sizes = []
        for i in range(LABELS * 16 // 65536):
            p = self.dir / f"postdata_{i}.bin"
            sizes.append(p.stat().st_size if p.exists() else 0)
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        for size in sizes:
            self.assertEqual(size % 16, 0)
        self.assertLess(sum(sizes), LABELS * 16)
        self.assertEqual([p.name for p in self.dir.iterdir()
                          if not p.name.startswith("postdata_") and
                          p.name != "holdfast.json"], [])

    def command(self, err):
        m = re.search(r"(?m)^  to go on: (.*)$", err)
        self.assertTrue(m, err)
        return m.group(1)

    def test_signals_and_going_on(self):
        whole = self.tmp / "whole"
        self.run_tool("space", "init", whole, *SET)
        for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.dir = self.tmp / f"a set, {s.name}"
            p = self.begin("--threads", 1)
            self.in_the_middle(p)
            r = self.stop(p, s)
            self.assertEqual(r.code, 130, r.err)
            self.assert_valid()
            self.assertIn("are safe on disk", r.err)
            command = self.command(r.err)
            # Only what the folder does not know is repeated.
            self.assertNotIn("--id", command)
            self.assertIn("--threads 1", command)
            # The command as it is shown, given to a shell.
            again = subprocess.run(command, shell=True, cwd=self.tmp,
                                   env=environment(), timeout=GUARD,
                                   capture_output=True, text=True)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertIn("Going on", again.stderr)
            self.assertEqual(contents(self.dir), contents(whole))

    def test_twice(self):
        p = self.begin("--threads", 1)
        self.in_the_middle(p)
        r = self.stop(p, signal.SIGINT, signal.SIGTERM)
        self.assertEqual(r.code, 130)
        self.assertIn("already stopping", r.err)
        self.assert_valid()

    def test_json(self):
        p = self.begin("--json", "--threads", 1)
        self.in_the_middle(p)
        r = self.stop(p, signal.SIGTERM)
        self.assertEqual(r.code, 130)
        self.assertEqual(r.err, "")
        e = r.last("error")
        self.assertEqual((e["code"], e["retry"]), ("HF_E_CANCELLED", "now"))
        self.assertIn("plan", [next(iter(o)) for o in r.lines()])

    def test_deadline(self):
        r = self.run_tool("space", "init", self.dir, *SET, "--threads", 1,
                          "--deadline", "300ms", code=6)
        self.assertIn("deadline", r.err)
        command = self.command(r.err)
        self.assertNotIn("--deadline", command)
        again = subprocess.run(command + " --deadline 10m --json", shell=True,
                               cwd=self.tmp, env=environment(), timeout=GUARD,
                               capture_output=True, text=True)
        r = Result(again.returncode, again.stdout, again.stderr)
        self.assertEqual(r.last("done")["labels_total"], LABELS)

    def test_before_anything_is_there(self):
        # A stop before the metadata exist: the whole command is needed.
        p = self.begin("--new-id")
        self.finish(p)
        self.assertEqual(p.returncode, 2)  # --id and --new-id
        p = self.start("space", "init", self.dir, "--new-id",
                       "--commitment-atx", ATX, "--units", 4,
                       "--labels-per-unit", 1 << 20)
        time.sleep(0.15)
        r = self.stop(p, signal.SIGINT)
        self.assertEqual(r.code, 130)
        command = self.command(r.err)
        if not (self.dir / "postdata_metadata.json").exists():
            self.assertIn("--commitment-atx", command)
        else:
            self.assertNotIn("--commitment-atx", command)

    def test_reader_that_went_away(self):
        p = self.begin("--json", "--threads", 1)
        self.in_the_middle(p)
        p.stdout.close()
        self.assertEqual(p.wait(GUARD), 4)
        self.assertIn("Broken pipe", p.stderr.read().decode())
        p.stderr.close()
        self.assert_valid()
        self.run_tool("space", "init", self.dir)

    def test_second_writer(self):
        # One file, so that both want the same.
        p = self.start("space", "init", self.dir, *SET[:-1], "4MiB",
                       "--threads", 1)
        self.in_the_middle(p)
        s = self.run_tool("space", "status", self.dir, "--json").last("done")
        self.assertTrue(s["writer"]["alive"])
        self.assertEqual(s["writer"]["pid"], p.pid)
        r = self.run_tool("space", "init", self.dir, "--json", code=5)
        e = r.last("error")
        self.assertEqual((e["code"], e["retry"]), ("HF_E_BUSY", "later"))
        self.assertEqual(self.stop(p, signal.SIGINT).code, 130)
        self.run_tool("space", "init", self.dir)


class Prove(Case):
    def begin(self):
        """A proof whose work step does not end."""
        self.make()
        p = self.start("space", "prove", self.dir, "--challenge", CHALLENGE,
                       "--pow-difficulty", "00" * 31 + "01", "--randomx",
                       "light", "--out", "proof.json")
        time.sleep(0.5)
        self.assertIsNone(p.poll())
        return p

    def test_signal(self):
        p = self.begin()
        begin = time.monotonic()
        p.send_signal(signal.SIGINT)
        r = self.finish(p)
        self.assertLess(time.monotonic() - begin, STOP_WITHIN)
        self.assertEqual(r.code, 130)
        self.assertIn("to go on: ", r.err)
        self.assertFalse((self.tmp / "proof.json").exists())

    def test_deadline(self):
        self.make()
        r = self.run_tool("space", "prove", self.dir, "--challenge",
                          CHALLENGE, "--pow-difficulty", "00" * 31 + "01",
                          "--randomx", "light", "--deadline", "1s", "--json",
                          code=6)
        self.assertEqual(r.last("error")["code"], "HF_E_CANCELLED")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""SIGINT and its kin: the run ends soon, what was computed is kept."""
from kit import *

STOP_WITHIN = 30
# Long enough to be met in the middle, short enough to be finished.
SLOW = dict(labels=1 << 18, n=1024, size=524288)


def waits(number):
    """The signal is there before the program starts."""
    def send():
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)
    return send


class Stop(Case):
    def stored(self):
        return sum(p.stat().st_size for p in self.dir.glob("*.bin"))

    def test_initialisation(self):
        whole = self.tmp / "whole"
        self.make(folder=whole, **SLOW)
        p = self.start(*self.set_flags(**SLOW), "-yes")
        end = time.monotonic() + GUARD
        while not self.stored() and p.poll() is None and \
                time.monotonic() < end:
            time.sleep(0.002)
        self.assertIsNone(p.poll(), "it was done before it was stopped")
        # Data that are being written are not deleted.
        r = self.run_tool(*self.set_flags(**SLOW), "-yes", "-reset",
                          answers="y\n", code=1)
        self.assertIn(f"process {p.pid} writes to", r.err)
        self.assertIsNone(p.poll(), "it was done before it was stopped")
        begin = time.monotonic()
        p.send_signal(signal.SIGINT)
        r = self.finish(p)
        self.assertLess(time.monotonic() - begin, STOP_WITHIN)
        self.assertEqual(r.code, 1, r.err)
        self.assertIn("cli: initialization interrupted", r.err)
        self.assertNotIn("completed", r.err)
        stored = self.stored()
        self.assertGreater(stored, 0)
        for f in self.dir.glob("*.bin"):
            self.assertEqual(f.stat().st_size % 16, 0)
            self.assertTrue((whole / f.name).read_bytes()
                            .startswith(f.read_bytes()))
        self.make(**SLOW)
        self.assertEqual(contents(self.dir), contents(whole))

    def test_before_the_start(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for identity in (True, False):
                r = self.run_tool(*self.set_flags(identity=identity), "-yes",
                                  code=1, preexec_fn=waits(number))
                self.assertIn("cli: initialization interrupted", r.err)
                self.assertFalse(self.dir.exists())

    def test_search(self):
        # An interrupted search is no failure.
        self.make()
        before = digest(self.dir)
        r = self.run_tool("-datadir", self.dir, "-searchForNonce", "-scryptN",
                          2, preexec_fn=waits(signal.SIGINT))
        self.assertIn("cli: search for nonce interrupted", r.err)
        self.assertEqual(digest(self.dir), before)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Questions: which are asked, and what counts as an answer."""
from kit import *

QUESTION = "Are you sure you want to continue (y/N)?"


class Questions(Case):
    def ask(self, answers, code=0, asked=None, **flags):
        r = self.run_tool(*self.set_flags(**flags), answers=answers, code=code)
        if asked is not None:
            self.assertEqual(r.err.count(QUESTION), asked, r.err)
        self.assert_dated(r.err)
        if code:
            self.assertTrue(r.err.endswith("Aborting\n"), r.err)
        return r

    def test_new_set(self):
        # Units outside 4 to 1048576, labels of a unit, N.
        self.ask("y\nY\ny\n", asked=3)
        shutil.rmtree(self.dir)
        self.ask("y\ny\n", asked=2, units=4)
        shutil.rmtree(self.dir)
        # The last line may end without its end.
        self.ask("y\n  y \ny", asked=3)

    def test_no(self):
        for answers, asked in (("", 1), ("\n", 1), ("n\n", 1), ("yes\n", 1),
                               ("y y\n", 1), ("\ny\ny\n", 1), ("N\n", 1),
                               ("y\n", 2), ("y\nn\ny\n", 2), ("y\ny\n", 3),
                               ("y\ny\nx\n", 3)):
            self.ask(answers, code=1, asked=asked)
            self.assertFalse(self.dir.exists())
        # No standard input at all.
        r = self.run_tool(*self.set_flags(), code=1,
                          preexec_fn=lambda: os.close(0))
        self.assertIn("Aborting", r.err)
        self.assertFalse(self.dir.exists())

    def test_yes_answers(self):
        r = self.make()
        self.assertNotIn(QUESTION, r.err)
        self.assertNotIn("CONTINUING", r.err)
        self.assertEqual(r.err.count("WARNING"), 3)

    def test_defaults_given_are_not_asked(self):
        # Main net's own values; ended by what is refused at last.
        r = self.run_tool("-datadir", self.dir, "-numUnits", 4,
                          "-labelsPerUnit", 4294967296, "-scryptN", 8192,
                          "-commitmentAtxId", ATX, "-id", ID, "-provider", 7,
                          code=2)
        self.assertNotIn(QUESTION, r.err)

    def test_more_units(self):
        self.make()
        before = digest(self.dir)
        r = self.ask("n\n", code=1, asked=1, units=3)
        self.assertIn("different `numUnits` value", r.err)
        self.assertIn("\tCurrent value: 2\n", r.err)
        self.assertIn("\tValue passed to postcli: 3\n", r.err)
        r = self.run_tool(*self.set_flags(units=3), answers="y\n" * 4, code=2)
        self.assertIn("`NumUnits` config mismatch", r.err)
        self.assertEqual(digest(self.dir), before)

    def test_signal_at_a_question(self):
        p = self.start(*self.set_flags(), stdin=subprocess.PIPE)
        err = b""
        while QUESTION.encode() not in err:
            err += os.read(p.stderr.fileno(), 4096)
        p.send_signal(signal.SIGINT)
        p.wait(timeout=GUARD)
        r = self.finish(p)
        self.assertEqual(r.code, 1)
        self.assertIn("Aborting", r.err)
        self.assertFalse(self.dir.exists())


if __name__ == "__main__":
    unittest.main()

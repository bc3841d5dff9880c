#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What is stored stays, whatever is asked; -reset, and only after a list."""
from kit import *

QUESTION = "Are you sure you want to continue (y/N)?"


class Keep(Case):
    def unchanged(self, *args, code, answers=None):
        before = digest(self.dir)
        r = self.run_tool(*args, code=code, answers=answers)
        self.assertEqual(digest(self.dir), before)
        return r

    def test_half_the_units(self):
        # 4 units in 8 files, and 2 are asked for.
        self.make(units=4, labels=256)
        self.assertEqual(len(list(self.dir.glob("*.bin"))), 8)
        half = self.set_flags(units=2)
        for more, answers in (([], None), ([], "y\n" * 9), (["-yes"], None)):
            r = self.unchanged(*half, *more, code=1, answers=answers)
            self.assertIn("data of 4 units in 8 files", r.err)
            self.assertIn("2 units are 4 files", r.err)
            self.assertIn("16384 bytes", r.err)
            self.assertNotIn("completed", r.err)

    def test_files_above_the_last(self):
        # 2 units are 4 files; 8 are there.
        self.make(units=2)
        for i in range(4, 8):
            shutil.copy(self.dir / "postdata_0.bin",
                        self.dir / f"postdata_{i}.bin")
        same = self.set_flags(units=2)
        for args, code in ((same, 1), ([*same, "-genproof"], 1),
                           (["-datadir", self.dir, "-scryptN", 2, "-verify",
                             "-fraction", 100], 0),
                           (["-datadir", self.dir, "-scryptN", 2,
                             "-searchForNonce"], 0)):
            for more, answers in ((["-yes"], None), ([], "y\n" * 9)):
                r = self.unchanged(*args, *more, code=code, answers=answers)
                self.assertRegex(r.err, "4 data files above the last")
                self.assertRegex(r.err, "2 units make 4 files")
        for p in self.dir.glob("*.bin"):
            p.chmod(0o400)
        self.unchanged(*same, "-yes", code=1)

    def test_too_long(self):
        self.make()
        with open(self.dir / "postdata_1.bin", "ab") as f:
            f.write(bytes(16))
        r = self.unchanged(*self.set_flags(), "-yes", code=1)
        self.assertIn("postdata_1.bin has 2064 bytes, its share is 2048", r.err)

    # ---- -reset ----

    def reset(self, *more, code=0, answers=None, **flags):
        return self.run_tool(*self.set_flags(**flags), "-reset", *more,
                             code=code, answers=answers)

    def test_reset(self):
        self.make(identity=False)
        (self.dir / "notes.txt").write_text("mine")
        flags = dict(identity=False)
        before = digest(self.dir)
        # No answer, n, and -yes alone: nothing is deleted.
        for more, answers in (([], None), (["-yes"], None), (["-yes"], "n\n"),
                              ([], "y\ny\ny\nn\n"), ([], "y\ny\ny\n")):
            r = self.reset(*more, code=1, answers=answers, **flags)
            self.assertEqual(digest(self.dir), before)
            self.assertNotIn("completed", r.err)
        self.assertIn(f"in {self.dir} will be deleted:", r.err)
        self.assertIn("postdata_0.bin to postdata_3.bin: 2048 bytes each",
                      r.err)
        for name in (META, "holdfast.json"):
            size = (self.dir / name).stat().st_size
            self.assertIn(f"\t{name}: {size} bytes", r.err)
        self.assertIn("data files: 4, with 8192 bytes and 512 labels", r.err)
        r = self.reset("-yes", answers="y\n", **flags)
        self.assertEqual(r.err.count(QUESTION), 1)
        self.assertIn("-yes does not cover", r.err)
        self.assertIn("cli: reset completed", r.err)
        # Nothing is initialised, and what is not ours to delete stays.
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()),
                         ["identity.key", "notes.txt"])

    def test_reset_asks_every_question(self):
        self.make()
        r = self.reset(answers="y\n" * 4)
        self.assertEqual(r.err.count(QUESTION), 4)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_reset_names_each(self):
        self.make()
        os.truncate(self.dir / "postdata_1.bin", 100)
        (self.dir / "postdata_3.bin").rename(self.tmp / "elsewhere.bin")
        (self.dir / "postdata_3.bin").symlink_to(self.tmp / "elsewhere.bin")
        r = self.reset("-yes", answers="y\n")
        for line in ("postdata_0.bin: 2048 bytes", "postdata_1.bin: 100 bytes",
                     "postdata_2.bin: 2048 bytes",
                     "postdata_3.bin: 2048 bytes (a link; what it points to "
                     "stays)"):
            self.assertIn(f"\t{line}\n", r.err)
        self.assertEqual(list(self.dir.iterdir()), [])
        self.assertEqual((self.tmp / "elsewhere.bin").stat().st_size, 2048)

    def test_reset_of_another_set(self):
        self.make()
        before = digest(self.dir)
        for code, flags in ((1, dict(id="33" * 32)), (1, dict(provider=None)),
                            (1, dict(commitmentAtxId="33" * 32)),
                            (2, dict(labels=257)), (2, dict(units=3)),
                            (1, dict(numUnits=None))):
            self.reset("-yes", code=code, answers="y\n", **flags)
            self.assertEqual(digest(self.dir), before)
        # Fewer units than are there: all of it, or nothing.
        self.reset("-yes", answers="y\n", units=1)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_reset_of_nothing(self):
        r = self.reset("-yes", identity=False)
        self.assertIn("cli: reset completed", r.err)
        self.assertFalse(self.dir.exists())
        # Metadata without a label: -yes is enough.
        self.make("-toFile", 0)
        (self.dir / "postdata_0.bin").unlink()
        r = self.reset("-yes")
        self.assertIn(f"\t{META}: ", r.err)
        self.assertEqual(list(self.dir.iterdir()), [])

    # ---- metadata of a set without labels ----

    def test_parameters_before_the_first_label(self):
        self.make()
        for p in self.dir.glob("*.bin"):
            p.unlink()
        other = dict(units=1, size=4096)
        before = digest(self.dir)
        r = self.run_tool(*self.set_flags(**other), answers="y\n" * 4, code=1)
        self.assertEqual(digest(self.dir), before)
        self.assertIn("no label is stored yet", r.err)
        self.assertIn(f"\t{META}: ", r.err)
        self.make(**other)
        whole = self.tmp / "whole"
        self.make(folder=whole, **other)
        self.assertEqual(contents(self.dir), contents(whole))


if __name__ == "__main__":
    unittest.main()

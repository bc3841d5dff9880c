#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sets of the reference tool: made again, opened, verified, gone on with."""
from kit import *


class Sets(Case):
    def test_made_again(self):
        for name in SETS:
            target = self.tmp / name
            r = self.run_tool("-datadir", target, *flags_of(name), "-yes")
            self.assertEqual(contents(target), contents(POST / name), name)
            self.assertIn("cli: initialization completed", r.err)
            self.assert_dated(r.err)
            self.assertEqual(target.stat().st_mode & 0o777, 0o700)
            for p in target.iterdir():
                self.assertEqual(p.stat().st_mode & 0o777, 0o600, p.name)

    def test_complete_is_left_alone(self):
        for name in SETS:
            folder = self.vector(name)
            before = digest(folder)
            self.run_tool("-datadir", folder, *flags_of(name), "-yes")
            after = digest(folder)
            after.pop("holdfast.json")  # -scryptN is kept beside the set
            self.assertEqual(after, before)

    def resume(self, name, damage):
        folder = self.vector(name)
        damage(folder)
        r = self.run_tool("-datadir", folder, *flags_of(name), "-yes")
        self.assertEqual(contents(folder), contents(POST / name), r.out)
        shutil.rmtree(folder)
        return r

    def test_gone_on(self):
        def cut(file, size):
            return lambda folder: os.truncate(folder / file, size)
        self.resume("a-4files-even", cut("postdata_1.bin", 480))
        self.resume("a-4files-even",
                    lambda d: (d / "postdata_3.bin").unlink())
        self.resume("b-3files-uneven", cut("postdata_2.bin", 0))
        self.resume("c-1file-not-multiple-of-8", cut("postdata_0.bin", 16))

    def test_torn_is_repaired(self):
        # The reference tool appends behind a torn label: all are shifted.
        for torn in (1, 15):
            def tear(folder):
                os.truncate(folder / "postdata_1.bin", 16 * 37 + torn)
            r = self.resume("a-4files-even", tear)
            self.assertIn("torn", r.out)

        def longer(folder):
            with open(folder / "postdata_2.bin", "ab") as f:
                f.write(b"tail")
        self.resume("b-3files-uneven", longer)

        def less_than_a_label(folder):
            os.truncate(folder / "postdata_0.bin", 7)
        self.resume("c-1file-not-multiple-of-8", less_than_a_label)

    def test_verify(self):
        for name, n in SETS.items():
            folder = self.vector(name)
            before = digest(folder)
            r = self.run_tool("-datadir", folder, "-verify", "-fraction", 100,
                              "-scryptN", n)
            self.assertIn("cli: POS data is valid", r.err)
            self.assertIn("identity.key does not exist. Skipping", r.err)
            self.assertEqual(digest(folder), before)

    def test_verify_finds(self):
        folder = self.vector("b-3files-uneven")
        for file, label in ((1, 100), (1, 101), (2, 475)):
            with open(folder / f"postdata_{file}.bin", "r+b") as f:
                f.seek(16 * label + 15)
                old = f.read(1)
                f.seek(-1, 1)
                f.write(bytes([old[0] ^ 1]))
        before = digest(folder)
        verify = ("-datadir", folder, "-verify", "-scryptN", 16, "-fraction",
                  100)
        r = self.run_tool(*verify, code=1)
        self.assertIn("cli: invalid POS: file 1 contains invalid label at "
                      "offset 1600\n", r.err)
        self.assertIn("postdata_1.bin: 2 from offset 1600", r.err)
        self.assertIn("postdata_2.bin: 1 from offset 7600", r.err)
        # The files that are asked for, both included.
        self.run_tool(*verify, "-toFile", 0)
        r = self.run_tool(*verify, "-fromFile", 2, code=1)
        self.assertIn("file 2 contains invalid label at offset 7600", r.err)
        self.assertEqual(digest(folder), before)
        # A sample that comes to no label.
        r = self.run_tool(*verify[:-1], "0.01")
        self.assertIn("no label was looked at", r.err)
        self.run_tool(*verify, "-fromFile", 2, "-toFile", 1)

    def test_nonce(self):
        for name, n in SETS.items():
            folder = self.vector(name)
            whole = json.loads((folder / META).read_text())
            bare = {k: v for k, v in whole.items() if "Nonce" not in k}
            (folder / META).write_text(json.dumps(bare, indent="\t"))
            r = self.run_tool("-datadir", folder, "-searchForNonce",
                              "-scryptN", n)
            self.assertIn(
                "cli: search for nonce completed. "
                f"Nonce: {whole['Nonce']} | "
                f"Label: {whole['NonceValue'].upper()}\n", r.err)
            self.assertEqual(contents(folder), contents(POST / name))

    def test_nonce_that_is_lower_stays(self):
        # Label 355 lies in file 2, and is not looked at.
        folder = self.vector("a-4files-even")
        before = digest(folder)
        r = self.run_tool("-datadir", folder, "-searchForNonce", "-scryptN", 2,
                          "-toFile", 1)
        self.assertIn("Nonce: 355 |", r.err)
        self.assertEqual(digest(folder), before)

    def test_nonce_not_found(self):
        folder = self.vector("a-4files-even")
        meta = json.loads((folder / META).read_text())
        meta = {k: v for k, v in meta.items() if "Nonce" not in k}
        (folder / META).write_text(json.dumps(meta, indent="\t"))
        search = ("-datadir", folder, "-searchForNonce", "-scryptN", 2)
        # A file that the range leaves out, and one that is torn.
        r = self.run_tool(*search, "-fromFile", 4, code=1)
        self.assertIn("nonce not found", r.err)
        os.truncate(folder / "postdata_1.bin", 17)
        before = digest(folder)
        r = self.run_tool(*search, code=1)
        self.assertIn("postdata_1.bin", r.err)
        self.assertIn("file appears truncated. please re-init it", r.err)
        self.assertEqual(digest(folder), before)
        # Label 355 lies in file 2.
        self.run_tool(*search, "-fromFile", 2, "-toFile", 9)

    def test_part_of_the_files(self):
        # Files 2 and 3 of 10: these, no more, and no search beyond them.
        flags = dict(labels=320, size=1024)
        r = self.make("-fromFile", 2, "-toFile", 3, **flags)
        self.assertIn('"numLabelsWritten": 128,', r.out)
        self.assertEqual(sorted(p.name for p in self.dir.glob("*.bin")),
                         [f"postdata_{i}.bin" for i in (2, 3)])
        self.make("-toFile", 1, **flags)
        self.make("-fromFile", 4, **flags)
        whole = self.tmp / "whole"
        self.make(folder=whole, **flags)
        data = {k: v for k, v in contents(whole).items() if k != META}
        self.assertEqual({k: v for k, v in contents(self.dir).items()
                          if k != META}, data)

    def test_paths(self):
        name = "PoST data ü 数据"
        plain = self.tmp / "plain"
        self.make(folder=plain)
        for path in (self.tmp / name, f"{name} 2", f"{name} 3/", f"./a/b/{name}"):
            self.make(folder=path)
            folder = self.tmp / path
            self.assertEqual(contents(folder), contents(plain))
            where = ("-datadir", path, "-scryptN", 2)
            self.run_tool(*where, "-verify", "-fraction", 100)
            self.run_tool(*where, "-searchForNonce")
            r = self.run_tool(*self.set_flags(path), "-yes", "-reset",
                              answers="y\n")
            self.assertEqual(contents(folder), {})

    def test_default_folder(self):
        args = self.set_flags(datadir=None)
        self.run_tool(*args, "-yes")
        self.assertTrue((self.tmp / "home/post/data" / META).exists())


if __name__ == "__main__":
    unittest.main()

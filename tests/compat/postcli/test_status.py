#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Exit statuses, by classes, and the words beside them."""
import resource

from kit import *


def limit_files():
    """Writing beyond 1000 bytes of a file fails: metadata fit, labels do not."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


class Status(Case):
    def refused(self, code, words, *more, **flags):
        """Of a folder that is not there: it is not made."""
        r = self.make(*more, code=code, **flags)
        self.assertIn(words, r.err)
        self.assertFalse(self.dir.exists(), words)
        return r

    def test_new_set(self):
        # 1: refused parameters.
        self.refused(1, "-provider flag is required", provider=None)
        self.refused(1, "failed to decode id", id="xy" * 32)
        self.refused(1, "failed to decode commitmentAtxId",
                     commitmentAtxId="123")
        self.refused(1, "-id flag is required when using -fromFile or -toFile",
                     identity=False, fromFile=1)
        # 2: where the reference tool panics.
        self.refused(2, "invalid `nodeId` length; expected: 32, given: 31",
                     id="11" * 31)
        self.refused(2, "invalid `commitmentAtxId` length; expected: 32, "
                        "given: 0", commitmentAtxId=None)
        self.refused(2, "invalid `opts.NumUnits`; expected: >= 4, given: 0",
                     numUnits=None)
        self.refused(2, "invalid `opts.NumUnits`", units=0)
        self.refused(2, "invalid `opts.NumUnits`; expected: <= 4294967295, "
                        "given: 4294967296", units=1 << 32)
        self.refused(2, "invalid `opts.MaxFileSize`; expected: >= 1024, given: "
                        "1023", size=1023)
        self.refused(2, "scrypt parameter N cannot be 0", n=0)
        self.refused(2, "scrypt parameter N cannot be 1", n=1)
        self.refused(2, "exceeds the range allowed by uint64", units=16,
                     labels=1 << 58)
        self.refused(2, "invalid `cfg.LabelsPerUnit`", labels=0)
        # An initialisation that failed is no success.
        self.refused(1, "cli: initialization error", n=3)
        self.refused(1, "cli: initialization error", toFile=4)
        self.refused(1, "cli: initialization error", fromFile=2, toFile=1)
        self.refused(1, "cli: initialization error", fromFile=-1)
        # The same without an identity: no key is left behind.
        self.refused(1, "cli: initialization error", n=3, identity=False)

    def test_provider(self):
        for provider in (7, 4294967294, 1 << 40):
            for identity in (True, False):
                r = self.refused(2, f"invalid provider ID {provider}",
                                 provider=provider, identity=identity)
                self.assertIn("\t4294967295: [CPU] scrypt-jane", r.err)

    def test_failed_writing(self):
        r = self.make(code=1, preexec_fn=limit_files)
        self.assertIn("cli: initialization error", r.err)
        self.assertIn("postdata_0.bin", r.err)
        self.assertNotIn("completed", r.err)
        # And it can be gone on with.
        whole = self.tmp / "whole"
        self.make(folder=whole)
        self.make()
        self.assertEqual(contents(self.dir), contents(whole))

    def differs(self, code, words, **flags):
        before = digest(self.dir)
        r = self.make(code=code, **{"id": None, **flags})
        self.assertIn(words, r.err)
        self.assertEqual(digest(self.dir), before)

    def test_existing_set(self):
        self.make(id="ab" * 32)
        where = f"datadir: {self.dir}\n"
        self.differs(1, "-numUnits must be specified", numUnits=None)
        self.differs(1, "-commitmentAtxId must be specified",
                     commitmentAtxId=None)
        self.differs(1, "-provider flag is required", provider=None)
        self.differs(1, "different `id` value", id="33" * 32)
        self.differs(1, "different `commitmentAtxId` value",
                     commitmentAtxId="33" * 32)
        self.differs(2, "`LabelsPerUnit` config mismatch; expected: 257, "
                        f"found: 256, {where}", labels=257)
        self.differs(2, "`LabelsPerUnit` config mismatch; expected: "
                        f"4294967296, found: 256, {where}", labelsPerUnit=None)
        self.differs(2, "`MaxFileSize` config mismatch; expected: 4096, "
                        f"found: 2048, {where}", size=4096)
        self.differs(2, "`NumUnits` config mismatch; expected: >= 3, found: 2, "
                        + where, units=3)
        self.differs(1, "cli: initialization error", n=4)
        self.differs(2, "invalid provider ID 7", provider=7)
        # Identity and N are known.
        before = digest(self.dir)
        self.make(identity=False, scryptN=None)
        self.make(id="AB" * 32)
        self.assertEqual(digest(self.dir), before)

    def test_metadata(self):
        self.make()
        (self.dir / META).rename(self.tmp / "kept")
        self.differs(2, "metadata file is missing")
        (self.dir / META).write_text("{")
        self.differs(1, "failed to load metadata:")
        for mode in ("-verify", "-searchForNonce"):
            r = self.run_tool("-datadir", self.dir, mode, "-scryptN", 2,
                              code=1)
            self.assertRegex(r.err, r"cli: failed \(invalid argument\)|"
                                    r"failed to load metadata")
        # A file where a folder should be.
        r = self.make(code=1, folder=self.tmp / "kept")
        self.assertIn("kept", r.err)

    def test_reading_modes(self):
        self.make()
        read = ("-datadir", self.dir, "-scryptN", 2)
        self.run_tool(*read, "-verify", "-toFile", 4, "-fraction", 1, code=1)
        self.run_tool(*read, "-verify", "-fromFile", -1, code=1)
        self.run_tool(*read[:2], "-scryptN", 0, "-verify", code=2)
        self.run_tool(*read[:2], "-scryptN", 1, "-verify", code=2)
        r = self.run_tool(*read[:2], "-scryptN", 4, "-verify", "-fraction",
                          100, code=1)
        (self.dir / "postdata_2.bin").unlink()
        r = self.run_tool(*read, "-verify", "-fraction", 100, code=1)
        self.assertIn("cli: failed (invalid argument)", r.err)
        self.assertIn("postdata_2.bin", r.err)
        # Metadata whose file size is no multiple of a label's: no abort.
        odd = self.tmp / "odd"
        self.make(folder=odd, size=2050)
        self.run_tool("-datadir", odd, "-scryptN", 2, "-verify", "-fraction",
                      100)

    def test_few_labels(self):
        # Fewer than 9 labels have no nonce; the reference tool panics.
        self.make(units=1, labels=8)
        self.assertEqual((self.dir / "postdata_0.bin").stat().st_size, 128)
        r = self.run_tool("-datadir", self.dir, "-searchForNonce", "-scryptN",
                          2, code=1)
        self.assertIn("nonce not found", r.err)

    def test_proof_of_part(self):
        # A proof that cannot be made is told by the status.
        r = self.make("-toFile", 1, "-genproof", code=1)
        self.assertIn("cli: initialization completed", r.err)
        self.assertIn("proof generation error", r.err)


if __name__ == "__main__":
    unittest.main()

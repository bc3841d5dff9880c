#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""init, status and vrf-nonce on real folders."""
from kit import *

POST = VECTORS / "space/post"
# name: (N, the VRF nonce that the reference tool stored)
SETS = {"a-4files-even": 2, "b-3files-uneven": 16,
        "c-1file-not-multiple-of-8": 4, "d-n8192": 8192}


def ed25519_public(seed):
    """RFC 8032, section 5.1.5, as plainly as possible."""
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p
    y = 4 * pow(5, -1, p) % p
    xx = (y * y - 1) * pow(d * y * y + 1, -1, p) % p
    x = pow(xx, (p + 3) // 8, p)
    if (x * x - xx) % p:
        x = x * pow(2, (p - 1) // 4, p) % p
    base = (p - x if x & 1 else x, y)

    def add(a, b):
        t = d * a[0] * b[0] * a[1] * b[1] % p
        return ((a[0] * b[1] + a[1] * b[0]) * pow(1 + t, -1, p) % p,
                (a[1] * b[1] + a[0] * b[0]) * pow(1 - t, -1, p) % p)
    h = bytearray(hashlib.sha512(seed).digest()[:32])
    h[0] &= 248
    h[31] = h[31] & 127 | 64
    scalar, out = int.from_bytes(h, "little"), (0, 1)
    for bit in reversed(range(256)):
        out = add(out, out)
        if scalar >> bit & 1:
            out = add(out, base)
    return (out[1] | (out[0] & 1) << 255).to_bytes(32, "little")


class Reference(Case):
    """What the reference tool made, made again from its own parameters."""

    def test_same_bytes(self):
        for name, n in SETS.items():
            meta = json.loads((POST / name / "postdata_metadata.json")
                              .read_text())
            target = self.tmp / name
            r = self.run_tool(
                "space", "init", target, "--id", meta["NodeId"],
                "--commitment-atx", meta["CommitmentAtxId"], "--units",
                meta["NumUnits"], "--labels-per-unit", meta["LabelsPerUnit"],
                "--max-file-size", meta["MaxFileSize"], "--scrypt-n", n,
                "--json")
            self.assertEqual(contents(target), contents(POST / name), name)
            done = r.last("done")
            self.assertEqual(done["nonce"], meta.get("Nonce"))
            self.assertEqual(done["node_id"], hex_of(meta["NodeId"]))
            self.assertEqual(done["labels_written"], done["labels_total"])

    def test_status(self):
        s = self.run_tool("space", "status", POST / "b-3files-uneven",
                          "--json").last("done")
        self.assertEqual(s["labels_total"], 1500)
        self.assertTrue(s["complete"])
        self.assertEqual(s["files_complete"], 3)
        self.assertIsNone(s["scrypt_n"])
        self.assertFalse(s["writer"]["alive"])

    def test_nonce(self):
        for name, n in SETS.items():
            folder = self.vector(name)
            path = folder / "postdata_metadata.json"
            whole = path.read_text()
            meta = json.loads(whole)
            r = self.run_tool("space", "vrf-nonce", folder)
            self.assertEqual(r.out.split()[0], str(meta["Nonce"]))
            if "NonceValue" not in meta:
                continue
            self.assertIn(meta["NonceValue"], r.out)
            # Forgotten, it is found again.
            bare = {k: v for k, v in meta.items() if "Nonce" not in k}
            path.write_text(json.dumps(bare, indent="\t"))
            r = self.run_tool("space", "vrf-nonce", folder, code=1)
            self.assertEqual(r.out, "")
            self.assertIn("--search", r.err)
            r = self.run_tool("space", "vrf-nonce", folder, "--search",
                              "--scrypt-n", n)
            self.assertEqual(r.out.split()[0], str(meta["Nonce"]))
            self.assertEqual(json.loads(path.read_text()), meta)


class Resume(Case):
    def test_only_dir(self):
        self.make(labels=2048)
        whole = contents(self.dir)
        (self.dir / "postdata_3.bin").write_bytes(
            whole["postdata_3.bin"][:1000])       # torn
        for i in range(4, 8):
            (self.dir / f"postdata_{i}.bin").unlink()
        s = self.run_tool("space", "status", self.dir, "--json").last("done")
        self.assertEqual(s["labels_stored"], 3 * 256 + 62)
        self.assertEqual((s["files_complete"], s["files_partial"]), (3, 1))
        self.assertEqual((s["first_incomplete"], s["bytes_torn"]), (3, 8))
        self.assertEqual(s["scrypt_n"], 2)
        done = self.run_tool("space", "init", self.dir, "--json").last("done")
        self.assertEqual(contents(self.dir), whole)
        self.assertEqual(done["bytes_torn"], 8)
        self.assertEqual(done["labels_written"], 2048 - 3 * 256 - 62)
        r = self.run_tool("space", "init", self.dir)
        self.assertIn("nothing was left to do", r.out)
        self.assertEqual(contents(self.dir), whole)

    def test_mismatches(self):
        self.make()
        before = digest(self.dir)
        for args, both in [
                (("--id", "44" * 32), ("44" * 8, "11" * 8)),
                (("--commitment-atx", "44" * 32), ("44" * 8, "22" * 8)),
                (("--units", "2"), ("2", "1")),
                (("--labels-per-unit", "512"), ("512", "1024")),
                (("--max-file-size", "8KiB"), ("8192", "4096")),
                (("--scrypt-n", "4"), ("4", "2"))]:
            r = self.run_tool("space", "init", self.dir, *args, code=3)
            for value in both:
                self.assertIn(value, r.err, args)
            self.assertEqual(digest(self.dir), before, args)
            r = self.run_tool("space", "init", self.dir, *args, "--json",
                              code=3)
            self.assertEqual(r.last("error")["code"], "HF_E_STATE")
            self.assertEqual(r.last("error")["retry"], "never")

    def test_wrong_n_is_seen_without_sidecar(self):
        self.make()
        (self.dir / "holdfast.json").unlink()
        before = digest(self.dir)
        for command in ["init", "status", "vrf-nonce"]:
            r = self.run_tool("space", command, self.dir, "--scrypt-n", 4,
                              code=3)
            self.assertIn("label 0", r.err)
        self.assertEqual(digest(self.dir), before)
        self.run_tool("space", "status", self.dir, "--scrypt-n", 2)

    def test_part_of_the_files(self):
        # Files 2 to 3 of 10, no label beside them, no search beyond.
        r = self.make(None, "--from-file", 2, "--to-file", 3, "--json",
                      labels=2560)
        self.assertEqual(sorted(p.name for p in self.dir.glob("*.bin")),
                         ["postdata_2.bin", "postdata_3.bin"])
        done = r.last("done")
        self.assertEqual(done["labels_written"], 512)
        self.assertEqual(done["labels_beyond"], 0)
        self.run_tool("space", "init", self.dir, "--from-file", 10, code=2)
        self.run_tool("space", "init", self.dir)
        whole = self.tmp / "whole"
        self.make(whole, labels=2560)
        self.assertEqual({k: v for k, v in contents(self.dir).items()
                          if k.endswith(".bin")},
                         {k: v for k, v in contents(whole).items()
                          if k.endswith(".bin")})

    def test_broken_metadata(self):
        self.make()
        path = self.dir / "postdata_metadata.json"
        path.write_text(path.read_text()[:-20])
        before = digest(self.dir)
        for command in ["init", "status", "vrf-nonce"]:
            r = self.run_tool("space", command, self.dir, "--json", code=3)
            self.assertEqual(r.last("error")["code"], "HF_E_FORMAT")
            self.assertIn("postdata_metadata.json", r.last("error")["file"])
        self.assertEqual(digest(self.dir), before)

    def test_not_there(self):
        for command in ["status", "vrf-nonce"]:
            r = self.run_tool("space", command, "nowhere", code=4)
            self.assertIn("nowhere", r.err)
        self.assertEqual(list(self.tmp.iterdir()), [])


class Surplus(Case):
    def test_never_touched(self):
        self.make(labels=2048)                     # 8 files
        self.prove()
        path = self.dir / "postdata_metadata.json"
        meta = json.loads(path.read_text())
        meta["LabelsPerUnit"] = 1024               # of which 4 belong to it
        meta.pop("Nonce"), meta.pop("NonceValue", None)
        path.write_text(json.dumps(meta, indent="\t"))
        before = {k: v for k, v in digest(self.dir).items() if "bin" in k}

        def unchanged():
            now = {k: v for k, v in digest(self.dir).items() if "bin" in k}
            self.assertEqual(now, before)
        for more in [(), ("--units", "1"), ("--labels-per-unit", "1024"),
                     ("--from-file", "0", "--to-file", "1"), ("--dry-run",)]:
            r = self.run_tool("space", "init", self.dir, *more, code=3)
            self.assertIn("4", r.err)
            self.assertRegex(r.err, r"4 data files above|postdata_7\.bin")
            unchanged()
        r = self.run_tool("space", "status", self.dir)
        self.assertIn("4 files are above the last", r.err)
        self.assertIn("it has 4", r.err)
        unchanged()
        r = self.run_tool("space", "vrf-nonce", self.dir, code=1)
        self.assertIn("warning:", r.err)
        r = self.run_tool("space", "vrf-nonce", self.dir, "--search",
                          code=None)
        self.assertIn(r.code, (0, 1))
        self.assertRegex(r.err, "warning: .*4.*postdata_7")
        unchanged()
        r = self.prove(out="again.json")
        self.assertRegex(r.err, "warning: .*4 files.*4 more")
        unchanged()
        r = self.verify(proof="again.json")
        self.assertEqual(r.out, "valid\n")
        self.assertRegex(r.err, "warning: .*4 files are above.*has 4")
        unchanged()
        # Its own result, of the whole set's proof: another number of labels.
        self.verify(code=1)
        unchanged()


    def test_number_beyond_all(self):
        self.make()
        (self.dir / "postdata_99999999999.bin").write_bytes(b"")
        r = self.run_tool("space", "init", self.dir, code=3)
        self.assertRegex(r.err, "1 data file above .* or beyond, but 1 unit "
                                "makes 4 files")
        r = self.run_tool("space", "status", self.dir)
        self.assertRegex(r.err, "warning: .*: 1 file is above")


class Sidecar(Case):
    def test_at_fault(self):
        self.make()
        (self.dir / "holdfast.json").write_text("{")
        r = self.run_tool("space", "status", self.dir, "--json", code=3)
        self.assertEqual(r.last("error")["file"],
                         str(self.dir / "holdfast.json"))
        r = self.run_tool("space", "status", self.dir, code=3)
        self.assertRegex(r.err, r"try: .*--scrypt-n")


class Paths(Case):
    def whole_life(self, folder, cwd_name=None):
        self.make(folder)
        self.run_tool("space", "init", folder)
        self.run_tool("space", "status", folder)
        self.run_tool("space", "vrf-nonce", folder, "--search")
        proof = f"{str(folder).rstrip('/')}/Beweis ü 数.json" \
            if not str(folder).startswith("-") else f"./{folder}/ü.json"
        r = self.prove(folder, out=proof)
        self.assertEqual(r.out.count("\n"), 1)
        self.assertIn(proof.replace("\n", "?"), r.out)
        self.assertEqual(self.verify(folder=folder, proof=proof).out,
                         "valid\n")
        meta = str(proof).rsplit("/", 1)[0] + "/postdata_metadata.json"
        self.verify("--metadata", meta, "--scrypt-n", 2, folder=False,
                    proof=proof)
        return contents(self.tmp / (cwd_name or folder))

    def test_names(self):
        plain = self.whole_life("plain")
        for name, where in [
                ("PoST data ü 数据", None), ("deep/er/trailing/", None),
                (self.tmp / "absolute dir", None),
                ("./new\nline 'quote\" $HOME *", None)]:
            self.assertEqual(self.whole_life(name, where), plain, name)

    def test_leading_dash(self):
        r = self.run_tool("space", "status", "--", "-dash", code=4)
        self.assertIn("-dash", r.err)
        r = self.run_tool("space", "status", "-dash", code=2)
        self.assertIn("unknown option", r.err)


class Identity(Case):
    def new(self, *more, code=0):
        return self.run_tool("space", "init", self.dir, "--new-id",
                             "--commitment-atx", ATX, "--units", 1,
                             "--labels-per-unit", 256, "--scrypt-n", 2,
                             *more, code=code)

    def test_key(self):
        r = self.new()
        path = self.dir / "identity.key"
        key = path.read_bytes()
        self.assertRegex(key, rb"^[0-9a-f]{128}$")
        self.assertEqual(path.stat().st_mode & 0o7777, 0o600)
        self.assertEqual(self.dir.stat().st_mode & 0o7777, 0o700)
        seed, public = bytes.fromhex(key[:64].decode()), key[64:].decode()
        self.assertEqual(ed25519_public(seed).hex(), public)
        meta = json.loads((self.dir / "postdata_metadata.json").read_text())
        self.assertEqual(hex_of(meta["NodeId"]), public)
        self.assertIn(public, r.err)
        self.assertIn("back up", r.err)
        self.assertNotIn(key[:64].decode(), r.err + r.out)
        # Never overwritten, whatever is asked.
        r = self.new(code=3)
        self.assertIn(public, r.err)
        self.run_tool("space", "init", self.dir)
        for p in self.dir.glob("*.bin"):
            p.unlink()
        (self.dir / "postdata_metadata.json").unlink()
        (self.dir / "holdfast.json").unlink()
        r = self.new(code=3)
        self.assertIn(f"--id {public}", r.err)
        r = self.run_tool("space", "init", self.dir, "--units", 1, code=2)
        self.assertIn(f"--id {public}", r.err)
        self.assertEqual(path.read_bytes(), key)

    def test_unreadable_key(self):
        self.dir.mkdir()
        (self.dir / "identity.key").write_text("something else")
        r = self.new(code=3)
        self.assertIn("identity.key", r.err)
        self.assertEqual((self.dir / "identity.key").read_text(),
                         "something else")
        self.assertEqual(len(list(self.dir.iterdir())), 1)

    def test_two_differ(self):
        self.new()
        first = (self.dir / "identity.key").read_text()
        self.dir = self.tmp / "other"
        self.new()
        self.assertNotEqual((self.dir / "identity.key").read_text(), first)

    def test_refused_plan_leaves_no_key(self):
        self.run_tool("space", "init", self.dir, "--new-id",
                      "--commitment-atx", ATX, "--units", 1000000, code=4)
        self.assertFalse(self.dir.exists())


class Network(Case):
    def rules(self, **members):
        path = self.tmp / "net.json"
        path.write_text(json.dumps(members))
        return path

    def test_bounds_bind(self):
        net = self.rules(min_units=2, max_units=3, labels_per_unit=512,
                         scrypt_n=2)
        args = ("space", "init", self.dir, "--id", ID, "--commitment-atx",
                ATX, "--network", net)
        for units in (1, 4):
            r = self.run_tool(*args, "--units", units, code=2)
            self.assertRegex(r.err, fr"\b{units} units?: the network")
            self.assertIn("2 to 3", r.err)
        self.assertFalse(self.dir.exists())
        r = self.run_tool(*args, "--units", 2)
        self.assertNotIn("warning", r.err)
        meta = json.loads((self.dir / "postdata_metadata.json").read_text())
        self.assertEqual(meta["LabelsPerUnit"], 512)
        self.assertEqual(json.loads((self.dir / "holdfast.json").read_text())
                         ["scrypt_n"], 2)
        self.run_tool("space", "status", self.dir, "--network", net)
        r = self.run_tool("space", "prove", self.dir, "--challenge",
                          CHALLENGE, "--network",
                          self.rules(min_units=3, labels_per_unit=512,
                                     scrypt_n=2), code=3)
        self.assertIn("2 units", r.err)

    def test_a_set_that_is_there(self):
        self.make(labels=512)
        net = self.rules(min_units=2, labels_per_unit=512, scrypt_n=2)
        before = digest(self.dir)
        r = self.run_tool("space", "init", self.dir, "--network", net, code=3)
        self.assertIn("has 1 unit: the network takes 2 to", r.err)
        self.assertEqual(digest(self.dir), before)
        r = self.run_tool("space", "status", self.dir, "--network", net)
        self.assertIn("warning: the set has 1 unit: ", r.err)

    def test_without_it_init_warns(self):
        r = self.make()
        for text in ["4 to 1048576 units, not of 1",
                     "4294967296 labels, not 1024", "8192, not 2"]:
            self.assertIn(text, r.err)

    def test_mainnet(self):
        r = self.run_tool("space", "init", self.dir, "--id", ID,
                          "--commitment-atx", ATX, "--units", 3, "--network",
                          "mainnet", code=2)
        self.assertIn("4 to 1048576", r.err)

    def test_bad_files(self):
        for text, code in [("{", 3), ('{"k3": 1}', 3), ('{"k1": "x"}', 3),
                           ('{"scrypt_n": 1000}', 3), ("[]", 3)]:
            (self.tmp / "bad.json").write_text(text)
            r = self.run_tool("space", "status", self.dir, "--network",
                              "bad.json", "--json", code=code)
            self.assertIn("bad.json", r.last("error")["file"])
        self.run_tool("space", "status", self.dir, "--network", "none.json",
                      code=4)


class Refusals(Case):
    def test_no_space(self):
        r = self.run_tool("space", "init", self.dir, "--id", ID,
                          "--commitment-atx", ATX, "--units", 1000000,
                          "--json", code=4)
        e = r.last("error")
        self.assertEqual((e["code"], e["retry"]), ("HF_E_IO", "later"))
        self.assertRegex(e["message"] + e["cause"], r"\d+.*\d+")
        self.assertFalse(self.dir.exists())

    def test_memory(self):
        r = self.make(None, "--memory", "1MiB", "--json", n=8192, code=5)
        self.assertEqual(r.last("error")["code"], "HF_E_MEMORY")

    def test_not_a_folder(self):
        self.dir.write_text("a file")
        self.make(code=4)
        self.assertEqual(self.dir.read_text(), "a file")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""prove and verify: the reference's proofs, ours, altered ones, refusals."""
import stat

from kit import *

RECORDS = [json.loads(json.dumps(r)) for r in
           json.loads((VECTORS / "space/proofs.json").read_text())]


def as_proof(record):
    """A record of the reference in our form of a proof."""
    meta = record["metadata"]
    return {"version": 1, "nonce": record["proof"]["nonce"],
            "indices": record["proof"]["indices"],
            "pow": record["proof"]["pow"], "challenge": meta["challenge"],
            "node_id": meta["node_id"],
            "commitment_atx_id": meta["commitment_atx_id"],
            "num_units": meta["num_units"],
            "labels_per_unit": record["init_config"]["labels_per_unit"]}


class Reference(Case):
    """Proofs that the reference prover made, judged by the tool."""

    def judge(self, record, proof, *more, code=0):
        (self.tmp / "p.json").write_text(json.dumps(proof))
        config = record["proof_config"]
        return self.run_tool(
            "space", "verify", VECTORS / "space" / record["post_dir"],
            "--proof", "p.json", "--scrypt-n",
            record["init_config"]["scrypt_n"], "--k1", config["k1"], "--k2",
            config["k2"], "--pow-difficulty", config["pow_difficulty"], *more,
            code=code)

    def test_they_hold(self):
        # One of each set; the library's own tests judge all of them.
        seen = set()
        for record in RECORDS:
            if record["post_dir"] in seen or not record.get("proof"):
                continue
            seen.add(record["post_dir"])
            r = self.judge(record, as_proof(record), "--strict")
            self.assertEqual(r.out, "valid\n", record["name"])
        self.assertEqual(len(seen), 4)

    def test_altered_ones_do_not(self):
        record = next(r for r in RECORDS if r["name"] == "b1")
        good = as_proof(record)
        packed = bytes.fromhex(good["indices"])
        for change in [
                {"nonce": good["nonce"] + 1},
                {"pow": str(int(good["pow"]) + 1)},
                {"indices": good["indices"][:-2]},
                {"indices": (bytes([packed[0] ^ 1]) + packed[1:]).hex()},
                {"indices": ""}]:
            r = self.judge(record, {**good, **change}, "--json", code=1)
            done = r.last("done")
            self.assertIs(done["valid"], False)
            self.assertTrue(done["reason"])

    def test_another_set(self):
        # The field and both values are named.
        record = next(r for r in RECORDS if r["name"] == "b1")
        good = as_proof(record)
        for field, value in [("node_id", "44" * 32),
                             ("commitment_atx_id", "55" * 32),
                             ("num_units", 4), ("labels_per_unit", 501)]:
            r = self.judge(record, {**good, field: value}, code=1)
            self.assertIn(field, r.out)
            self.assertIn(str(value), r.out)
            self.assertIn(str(good[field]), r.out)

    def test_parts(self):
        record = next(r for r in RECORDS if r["name"] == "b1")
        proof = as_proof(record)
        bad = {**proof, "indices": "00" + proof["indices"][2:]}
        self.judge(record, proof, "--index", 1)
        self.judge(record, bad, "--index", 29)
        r = self.judge(record, bad, "--index", 0, "--json", code=1)
        self.assertEqual(r.last("done")["verdict"], "invalid_index")
        self.assertEqual(r.last("done")["index_id"], 0)
        # What the network lets pass, strictness names.
        k2 = record["proof_config"]["k2"]
        self.judge(record, proof, "--subset", k2 + 1, "--seed", "00")
        r = self.judge(record, proof, "--subset", k2 + 1, "--seed", "00",
                       "--strict", code=None)
        self.assertIn(r.code, (1, 2))
        self.assertIn("k3", r.out + r.err)


class Own(Case):
    def test_proof_does_not_depend_on_threads(self):
        self.make(labels=4096)
        self.prove(None, "--threads", 1, out="one.json")
        self.prove(None, "--threads", 3, "--kernel", "portable",
                   out="three.json")
        one = (self.tmp / "one.json").read_bytes()
        self.assertEqual(one, (self.tmp / "three.json").read_bytes())
        proof = json.loads(one)
        self.assertEqual(sorted(proof), sorted(
            ["version", "nonce", "indices", "pow", "challenge", "node_id",
             "commitment_atx_id", "num_units", "labels_per_unit"]))
        self.assertEqual(proof["challenge"], CHALLENGE)
        self.assertIsInstance(proof["pow"], str)
        self.assertEqual(
            stat.S_IMODE((self.tmp / "one.json").stat().st_mode), 0o600)
        # Neither on the way out.
        r = self.prove(out="-")
        self.assertEqual(json.loads(r.out), proof)
        r = self.prove(None, "--json", out="-")
        self.assertEqual(r.last("done")["proof"], proof)
        self.assertEqual(r.err, "")

    def test_stdin_and_metadata(self):
        self.make()
        self.prove()
        proof = (self.tmp / "proof.json").read_bytes()
        r = self.run_tool("space", "verify", self.dir, "--proof", "-",
                          "--pow-difficulty", EASY, *RULES, stdin=proof)
        self.assertEqual(r.out, "valid\n")
        meta = self.dir / "postdata_metadata.json"
        r = self.verify("--metadata", meta, "--scrypt-n", 2, folder=False)
        self.assertEqual(r.out, "valid\n")
        # N stands in the sidecar beside it, ...
        for where in [meta, "set/postdata_metadata.json"]:
            r = self.verify("--metadata", where, folder=False)
            self.assertEqual((r.out, r.err), ("valid\n", ""))
        # ... and nowhere else: it is main net's, and labels are others.
        shutil.copy(meta, self.tmp / "copy.json")
        r = self.verify("--metadata", "copy.json", folder=False, code=1)
        self.assertRegex(r.out, "^invalid: ")
        self.assertRegex(r.err, "^warning: .*8192 .*--scrypt-n")
        (self.dir / "holdfast.json").unlink()
        r = self.verify("--metadata", meta, folder=False, code=1)
        self.assertRegex(r.err, "^warning: .*8192 .*--scrypt-n")
        # Told and wrong is no guess.
        r = self.verify("--metadata", meta, "--scrypt-n", 4, folder=False,
                        code=1)
        self.assertEqual(r.err, "")
        # Label 0 refuses another N.
        self.verify("--scrypt-n", 4, code=3)
        # What is no file is not waited for.
        os.mkfifo(self.tmp / "pipe")
        r = self.verify("--metadata", "pipe", "--scrypt-n", 2, folder=False,
                        code=4)
        self.assertIn("a regular file is wanted", r.err)
        r = self.verify(proof="pipe", code=4)
        self.assertIn("a regular file is wanted", r.err)

    def test_rules(self):
        self.make()
        self.prove()
        r = self.run_tool("space", "verify", self.dir, "--proof",
                          "proof.json", *RULES, code=1)
        self.assertIn("pow", r.out)
        net = self.tmp / "net.json"
        rules = {"labels_per_unit": 1024, "scrypt_n": 2, "min_units": 1,
                 "pow_difficulty": EASY}
        net.write_text(json.dumps(rules))
        self.verify("--network", net)
        net.write_text(json.dumps({**rules, "min_units": 2}))
        r = self.verify("--network", net, code=1)
        self.assertIn("num_units", r.out)
        r = self.verify(rules=("--k2", 27), code=1)
        self.assertRegex(r.out, r"^invalid: \S")

    def test_damaged_data(self):
        self.make()
        # Every label of one file another: whatever proof is found uses one.
        path = self.dir / "postdata_2.bin"
        data = path.read_bytes()
        path.write_bytes(bytes(b ^ 0xff for b in data))
        r = self.prove(None, "--json", code=3)
        e = r.last("error")
        self.assertEqual(e["code"], "HF_E_FORMAT")
        self.assertIn("postdata_2.bin", e["file"])
        self.assertEqual(e["offset"] % 16, 0)
        self.assertLess(e["offset"], len(data))
        self.assertFalse((self.tmp / "proof.json").exists())
        r = self.prove(code=3)
        self.assertIn(f"space init {self.dir} --from-file 2 --to-file 2",
                      r.err)
        path.unlink()
        r = self.prove(code=3)
        self.assertIn("init", r.err)
        self.assertFalse((self.tmp / "proof.json").exists())

    def test_no_nonce_is_good_enough(self):
        self.make()
        r = self.prove(None, "--json", code=1,
                       rules=("--k1", 1, "--k2", 500, "--nonces", 4096))
        self.assertEqual(r.last("error")["code"], "HF_E_NOT_FOUND")

    def test_bad_proofs(self):
        self.make()
        for text in [b"", b"{", b"[]", b"{}", b'{"version": 1}', b"\xff" * 99,
                     b'{"nonce": ' + b"9" * 5000 + b"}"]:
            (self.tmp / "bad.json").write_bytes(text)
            r = self.verify("--json", proof="bad.json", code=3)
            self.assertEqual(r.last("error")["code"], "HF_E_FORMAT")
        r = self.verify("--json", proof="none.json", code=4)
        self.assertEqual(r.last("error")["file"], "none.json")


class Target(Case):
    def test_refused_before_the_work(self):
        self.make()
        # Main net's difficulty: were work begun, this would not end.
        args = ("space", "prove", self.dir, "--challenge", CHALLENGE,
                "--randomx", "light", "--out")
        self.run_tool(*args, "no/such/folder/p.json", code=4)
        r = self.run_tool(*args, self.dir, code=2)
        self.assertIn("is a folder", r.err)

    def test_replaces_whole(self):
        self.make()
        (self.tmp / "real.json").write_text("older")
        (self.tmp / "proof.json").symlink_to("real.json")
        self.prove()
        self.assertTrue((self.tmp / "proof.json").is_symlink())
        json.loads((self.tmp / "real.json").read_text())
        self.assertEqual(sorted(p.name for p in self.tmp.iterdir()),
                         ["proof.json", "real.json", "set"])

    def test_devices_are_written_to(self):
        self.make()
        self.prove(out="/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        r = self.prove(out="/dev/full", code=4)
        self.assertIn("No space left", r.err)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_full_standard_output(self):
        self.make()
        with open("/dev/full", "wb") as full:
            p = self.start("space", "prove", self.dir, "--challenge",
                           CHALLENGE, "--pow-difficulty", EASY, "--randomx",
                           "light", "--nonces", 16, *RULES, stdout=full)
            r = self.finish(p)
        self.assertEqual(r.code, 4)
        self.assertIn("No space left", r.err)


class ReadOnly(Case):
    def test_no_write_is_tried(self):
        self.make()
        before = digest(self.dir)
        for p in self.dir.iterdir():
            p.chmod(0o444)
        self.dir.chmod(0o555)
        self.addCleanup(self.dir.chmod, 0o755)
        out = self.tmp / "out"
        out.mkdir()
        out.chmod(0o777)
        as_user = {}
        tool = TOOL
        if os.getuid() == 0:  # root may write anywhere: be somebody else
            tool = self.tmp / "holdfast"
            shutil.copy(TOOL, tool)
            tool.chmod(0o755)
            as_user = {"user": 65534, "group": 65534, "extra_groups": []}

        def run(*args):
            r = subprocess.run([tool, *map(str, args)], capture_output=True,
                               text=True, cwd=out, timeout=GUARD,
                               env=environment(), **as_user)
            self.assertEqual(r.returncode, 0, r.stderr)
            return r.stdout
        run("space", "prove", self.dir, "--challenge", CHALLENGE,
            "--pow-difficulty", EASY, "--randomx", "light", "--out",
            out / "p.json", "--nonces", 16, *RULES)
        self.assertEqual(run("space", "verify", self.dir, "--proof",
                             out / "p.json", "--pow-difficulty", EASY,
                             *RULES),
                         "valid\n")
        run("space", "status", self.dir)
        now = digest(self.dir)
        self.assertEqual({k: v[1:] for k, v in now.items()},
                         {k: v[1:] for k, v in before.items()})


if __name__ == "__main__":
    unittest.main()

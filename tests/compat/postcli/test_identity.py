#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""identity.key: made, found again, compared."""
import base64

from kit import *


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


class Identity(Case):
    def key(self):
        return self.dir / "identity.key"

    def node_id(self):
        meta = json.loads((self.dir / META).read_text())
        return base64.b64decode(meta["NodeId"]).hex()

    def verify(self, code=0):
        return self.run_tool("-datadir", self.dir, "-verify", "-fraction", 100,
                             "-scryptN", 2, code=code)

    def test_made(self):
        r = self.make(identity=False, preexec_fn=lambda: os.umask(0))
        self.assertIn("cli: generating new identity", r.err)
        self.assertIn("generated key in identity.key", r.err)
        text = self.key().read_text()
        self.assertRegex(text, r"\A[0-9a-f]{128}\Z")
        self.assertEqual(self.key().stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.dir.stat().st_mode & 0o777, 0o700)
        public = ed25519_public(bytes.fromhex(text[:64])).hex()
        self.assertEqual(public, text[64:])
        self.assertEqual(public, self.node_id())
        self.assertIn("cli: identity.key is valid", self.verify().err)
        # Gone on with, with and without -id; the key stays.
        before = digest(self.dir)
        r = self.make(identity=False)
        self.assertNotIn("generating", r.err)
        self.make(id=public)
        r = self.make(code=1, id=ID)
        self.assertIn("different `id` value", r.err)
        self.assertEqual(digest(self.dir), before)

    def test_none_with_an_id(self):
        self.make()
        self.assertFalse(self.key().exists())

    def test_found_without_metadata(self):
        seed = bytes(range(32))
        self.dir.mkdir(0o700)
        # Only the seed counts for the public key.
        self.key().write_text(seed.hex() + "00" * 32)
        r = self.make(code=1)
        self.assertIn("does not match the generated key", r.err)
        self.assertEqual(list(self.dir.iterdir()), [self.key()])
        self.make(identity=False, fromFile=0, toFile=3)
        self.assertEqual(self.node_id(), ed25519_public(seed).hex())

    def test_another(self):
        self.make()
        self.key().write_text("07" * 64)
        r = self.make(code=1)
        self.assertIn("inconsistent state: identity.key", r.err)
        r = self.verify(code=1)
        self.assertIn("does not match public key from identity.key", r.err)
        for text in ("", "07" * 63, "07" * 65, "07" * 63 + "0g",
                     "07" * 64 + "\n"):
            self.key().write_text(text)
            before = digest(self.dir)
            self.make(code=1)
            self.verify(code=1)
            self.assertEqual(digest(self.dir), before)


if __name__ == "__main__":
    unittest.main()

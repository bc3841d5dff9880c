# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Loss of power: from the record of a run, states are rebuilt that a disk may
be in, and each is gone on from to the same bytes. In each state the sidecar must
have told the truth: labels that are not pending are there and right.

The model: a write is split at sectors of 512 bytes; until its file is synced
each piece may have reached the disk or not, in any order; a file's length may
be any that it had since its last sync, and what was not written reads as zeros.
A new name, rename or removal reaches the disk any time until the folder is
synced, in order for each name, in no order between names. A file that no name
on disk leads to is gone. A sync of a file says nothing about its name. A sync
that fails drops what it should have written: no later one brings it back.
"""
import json
import os
import random

import faults
from faults import META, SIDECAR, Set, check

SECTOR = 512


def parse(data):
    ops, at = [], 0
    while at < len(data):
        end = data.index(b"\n", at)
        word = data[at:end].decode().split()
        at = end + 1
        if word[0] == "write":
            size = int(word[3])
            ops.append(("write", word[1], int(word[2]), data[at:at + size]))
            at += size
        else:
            ops.append(tuple(word))
    return ops


class Inode:
    def __init__(self, data=b""):
        self.disk = data   # known to be on disk
        self.pending = []  # since then: ("write", offset, bytes),
        #                    ("lost", end), ("truncate", length)
        self.seen = data   # what a program reads

    def write(self, offset, piece):
        self.pending.append(("write", offset, piece))
        data = bytearray(self.seen)
        data += b"\0" * (offset + len(piece) - len(data))
        data[offset:offset + len(piece)] = piece
        self.seen = bytes(data)

    def truncate(self, length):
        self.pending.append(("truncate", length))
        self.seen = self.seen[:length].ljust(length, b"\0")

    def sync_failed(self):
        self.pending = [("lost", op[1] + len(op[2])) if op[0] == "write"
                        else op for op in self.pending]

    def synced(self, rng=None):
        """The contents with all that is pending, or with some of it."""
        data = bytearray(self.disk)
        keep = len(self.pending) if rng is None else \
            rng.randint(0, len(self.pending))
        all_pieces = rng is None or rng.random() < 0.2
        for op in self.pending[:keep]:
            if op[0] == "truncate":
                del data[op[1]:]
            end = op[1] + len(op[2]) if op[0] == "write" else op[1]
            data += b"\0" * (end - len(data))
            if op[0] != "write":
                continue
            offset, piece = op[1], op[2]
            while piece:
                size = min(SECTOR - offset % SECTOR, len(piece))
                if all_pieces or rng.random() < 0.6:
                    data[offset:offset + size] = piece[:size]
                offset, piece = offset + size, piece[size:]
        return bytes(data)


class Disk:
    def __init__(self, files):
        self.inode = {}
        self.names = {n: Inode(d) for n, d in files.items()}
        self.changes = []  # of names, not yet synced

    def apply(self, op):
        kind = op[0]
        node = self.inode.get(op[1]) if len(op) > 1 else None
        if kind == "create":
            # Numbers are used again once a file is gone.
            self.inode[op[2]] = node = Inode()
            self.changes.append(("link", op[1], node))
        elif kind == "write":
            node.write(op[2], op[3])
        elif kind == "truncate":
            node.truncate(int(op[2]))
        elif kind == "sync":
            node.disk, node.pending = node.synced(), []
        elif kind == "syncfail":
            node.sync_failed()
        elif kind == "syncdir":
            self.names, self.changes = self.named(), []
        elif kind == "rename":
            self.changes.append(("rename", op[1], op[2]))
        elif kind == "remove":
            self.changes.append(("remove", op[1]))

    @staticmethod
    def group(name):
        """A file and the temporary one that replaces it change in order."""
        return name[1:-4] if name.startswith(".") else name

    def named(self, rng=None):
        names = dict(self.names)
        changes = {}
        for change in self.changes:
            changes.setdefault(self.group(change[1]), []).append(change)
        for group in changes.values():
            keep = len(group) if rng is None else rng.randint(0, len(group))
            for change in group[:keep]:
                if change[0] == "link":
                    names[change[1]] = change[2]
                elif change[0] == "rename":
                    names[change[2]] = names.pop(change[1])
                else:
                    names.pop(change[1], None)
        return names

    def seen(self):
        return {n: node.seen for n, node in self.named().items()}

    def after_loss(self, rng=None):
        """What is there when the power is back; without rng: at the worst,
        only what is known to be on disk."""
        if rng is None:
            return {n: node.disk for n, node in self.names.items()}
        return {n: node.synced(rng) for n, node in self.named(rng).items()}


def run_recorded(s, disk, **shim):
    """One run from what a program sees of the disk; its calls, not applied."""
    log = os.path.join(s.root, "log")
    s.put(disk.seen())
    for name, node in disk.named().items():
        number = str(os.stat(os.path.join(s.dir, name)).st_ino)
        disk.inode[number] = node
    result = s.run(log=log, **shim)
    ops = parse(s.read(log))
    os.remove(log)
    return result, ops


def check_promise(s, files):
    """All labels that are not pending are there and right."""
    if SIDECAR not in files or META not in files:
        return
    pending = json.loads(files[SIDECAR]).get("pending", [])
    per_file = s.shape[2] // 16
    for name, data in s.expected.items():
        if not name.endswith(".bin"):
            continue
        first = int(name[9:-4]) * per_file
        for at in range(len(data) // 16):
            if any(a <= first + at < b for a, b in pending):
                continue
            check(files.get(name, b"")[16 * at:16 * at + 16] ==
                  data[16 * at:16 * at + 16],
                  "label %d is neither pending nor there" % (first + at))


def some(ops, rng):
    return ops[:rng.randint(0, len(ops))]


def random_state(s, rng, i):
    """A state after loss of power in a run: the first one, one that goes on
    from a loss, or one that goes on from a kill with nothing yet on disk."""
    disk = Disk({})
    _, ops = run_recorded(s, disk)
    for op in some(ops, rng):
        disk.apply(op)
    if i % 3 > 0:
        if i % 3 == 1:
            files = disk.after_loss(rng)
            check_promise(s, files)
            disk = Disk(files)
        _, ops = run_recorded(s, disk)
        s.check_complete()
        for op in some(ops, rng) if rng.random() < 0.7 else ops:
            disk.apply(op)
    return disk.after_loss(rng)


def random_states(s, rng, count):
    cut = 0
    for i in range(count):
        try:
            files = random_state(s, rng, i)
            check_promise(s, files)
            s.put(files)
            cut += s.finish()["torn"] > 0
        except faults.Failure as e:
            raise faults.Failure("state %d: %s" % (i, e)) from None
    check(cut > count // 20, "hardly a state had anything to cut")
    print("%d states after power loss, %d of them with wrong or torn labels" %
          (count, cut))


def failed_syncs(s, step):
    """A sync fails, the next run completes, then the power goes."""
    n = tried = 0
    while True:
        n += 1
        disk = Disk({})
        result, ops = run_recorded(s, disk, fail="sync:%d:5" % n)
        for op in ops:
            disk.apply(op)
        if result["status"] == "HF_OK":
            break
        if n % step != 0:
            continue
        tried += 1
        _, ops = run_recorded(s, disk)
        s.check_complete()
        for op in ops:
            disk.apply(op)
        files = disk.after_loss()
        for name, data in s.expected.items():
            check(files.get(name) == data,
                  "sync %d failed: %s is not on disk" % (n, name))
    print("%d failed syncs, nothing of them lost later" % tried)


def test(program, shim, full):
    s = Set(program, shim, (4, 150, 2560, 2, 70, 2000))
    failed_syncs(s, 1 if full else 2)
    random_states(s, random.Random(4711), 1500 if full else 60)
    s.close()


faults.main(test)

# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Loss of power: from the record of a run, states are rebuilt that a disk may
be in, and each is gone on from to the same bytes.

The model: a write is split at sectors of 512 bytes; until its file is synced
each piece may have reached the disk or not, in any order; a file's length may
be any that it had since its last sync, and what was not written reads as zeros.
New names, renames and removals reach the disk in their order, but only with a
sync of the folder is it known how many of them. A file that no name on disk
leads to is gone. A sync of a file says nothing about its name.
"""
import os
import random

import faults
from faults import Set, check

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
    def __init__(self):
        self.disk = b""       # known to be on disk
        self.pending = []     # (offset, bytes) or new length, since then

    def synced(self, rng=None):
        """The contents with all that is pending, or with some of it."""
        data = bytearray(self.disk)
        keep = len(self.pending) if rng is None else \
            rng.randint(0, len(self.pending))
        all_pieces = rng is None or rng.random() < 0.2
        for op in self.pending[:keep]:
            if isinstance(op, int):
                del data[op:]
                data += b"\0" * (op - len(data))
                continue
            offset, piece = op
            data += b"\0" * (offset + len(piece) - len(data))
            while piece:
                size = min(SECTOR - offset % SECTOR, len(piece))
                if all_pieces or rng.random() < 0.6:
                    data[offset:offset + size] = piece[:size]
                offset, piece = offset + size, piece[size:]
        return bytes(data)


class Disk:
    def __init__(self):
        self.inode = {}
        self.names = {}    # known to be on disk
        self.changes = []  # of names, since then

    def apply(self, op):
        kind = op[0]
        if kind == "create":
            # Numbers are used again once a file is gone.
            key = (op[2], len(self.inode))
            self.inode[op[2]] = node = Inode()
            self.inode[key] = node
            self.changes.append(("link", op[1], node))
        elif kind == "write":
            self.inode[op[1]].pending.append((op[2], op[3]))
        elif kind == "truncate":
            self.inode[op[1]].pending.append(int(op[2]))
        elif kind == "sync":
            node = self.inode[op[1]]
            node.disk, node.pending = node.synced(), []
        elif kind == "syncdir":
            self.names, self.changes = self.after(len(self.changes)), []
        elif kind == "rename":
            self.changes.append(("rename", op[1], op[2]))
        elif kind == "remove":
            self.changes.append(("remove", op[1]))

    def after(self, count):
        names = dict(self.names)
        for change in self.changes[:count]:
            if change[0] == "link":
                names[change[1]] = change[2]
            elif change[0] == "rename":
                names[change[2]] = names.pop(change[1])
            else:
                names.pop(change[1], None)
        return names

    def state(self, rng):
        names = self.after(rng.randint(0, len(self.changes)))
        return {n: node.synced(rng) for n, node in names.items()}


def record(s, start):
    """The calls of an undisturbed run from these files."""
    log = os.path.join(s.root, "log")
    s.put(start)
    disk = Disk()
    for name, data in start.items():
        node = Inode()
        node.disk = data
        number = str(os.stat(os.path.join(s.dir, name)).st_ino)
        disk.names[name] = disk.inode[number] = node
    check(s.run(log=log)["status"] == "HF_OK", "recorded run")
    s.check_complete()
    ops = parse(s.read(log))
    os.remove(log)
    return disk, ops


def lose_power(s, start, rng):
    """After a random call of a run from `start`: what the disk then holds."""
    disk, ops = record(s, start)
    for op in ops[:rng.randint(0, len(ops))]:
        disk.apply(op)
    return disk.state(rng)


def test(program, shim, full):
    shape = (4, 150, 2560, 2, 70, 2000)
    s = Set(program, shim, shape)
    rng = random.Random(4711)
    states = 1500 if full else 60
    cut = 0
    for i in range(states):
        # Some lose power again while they go on from the first loss.
        files = lose_power(s, {}, rng)
        if i % 3 == 0:
            files = lose_power(s, files, rng)
        s.put(files)
        try:
            cut += s.finish()["torn"] > 0
        except faults.Failure as e:
            raise faults.Failure("state %d (%s): %s" % (
                i, {n: len(d) for n, d in files.items()}, e)) from None
    s.close()
    check(cut > states // 20, "hardly a state had anything to cut")
    print("%d states after power loss, %d of them with wrong or torn labels" %
          (states, cut))


faults.main(test)

#!/usr/bin/env python3
"""Strangers at every listening socket of a running tree, and peers with the key that lie: their cost is limited, counted
and shown, and the run goes on.

The limits are those of docs/security.md, "Strangers" and "Peers with the key". Needs `capnp`, which the build needs
too.
"""

import errno
import functools
import hashlib
import hmac
import json
import os
import pathlib
import resource
import select
import socket
import ssl
import struct
import subprocess
import time
import unittest

from harness import DEADLINE, SOURCE, Store, WholeSystemTest, all_xylem_processes, mpirun, wait_until

MAX_AT_ONCE = 512
CONNECTIONS = 10_000
# What connections that have not proved the key may cost a process, all together; within TLS each has its buffers.
MAX_GROWTH = {"TLS": 64 << 20, "plain": 16 << 20, "Unix": 16 << 20}
LIARS = 64  # With the key, who claim 16 MiB each.
MAX_OF_LIARS = 32 << 20
NONCE = bytes(range(16))
NOBODY = 0xFFFFFFFF
TCP_DOORS = ["front end, TCP", "communication process, TCP"]


@functools.cache
def frame(message):
    """A frame of a message written as `capnp encode` takes it."""
    segment = subprocess.run(["capnp", "encode", "--flat", str(SOURCE / "wire/xylem.capnp"), "Message"],
                             input=message.encode(), capture_output=True, check=True).stdout
    return struct.pack("<II", len(segment) + 4, 0) + segment


def hello(run):
    return frame(f'(hello = (magic = 0x4d4c5958, major = 1, role = backEnd, run = "{run}", node = {NOBODY}, '
                 f'leaf = {NOBODY}, level = 9, nonce = 0x"{NONCE.hex()}"))')


def proof(key, theirs):
    mac = hmac.new(key, b"xylemc" + theirs + NONCE, hashlib.sha256).digest()
    other = b"Z" * len(mac)
    return frame(f'(proof = (mac = 0x"{other.hex()}"))').replace(other, mac)


def client_hello():
    """The first bytes of TLS, from somebody without the key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    out = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def pss_of(pid):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    raise AssertionError(f"no Pss of {pid}")


def tcp_address_of(pid):
    """Where a process listens."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(os.readlink(fd))
        except OSError:
            continue
    for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
            host, port = words[1].split(":")
            return socket.inet_ntoa(struct.pack("<I", int(host, 16))), int(port, 16)
    raise AssertionError(f"process {pid} does not listen")


class Listener:
    """An address where a process listens."""

    def __init__(self, name, pid, family, address, tls):
        self.name, self.pid, self.family, self.address, self.tls = name, pid, family, address, tls
        self.before = pss_of(pid)
        self.most = self.before

    def connect(self):
        stranger = socket.socket(self.family)
        stranger.settimeout(20)
        stranger.connect(self.address)
        return stranger

    def measure(self):
        self.most = max(self.most, pss_of(self.pid))

    def answer_to(self, *said):
        """What the process answers before it closes the connection."""
        with self.connect() as stranger:
            heard = b""
            try:
                for text in said:
                    stranger.sendall(text)
                while piece := stranger.recv(4096):
                    heard += piece
            except ConnectionError:
                pass  # Closed while we were sending.
            return heard


class Strangers(WholeSystemTest):
    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.connections = min(CONNECTIONS, hard - 500)

    def start_tree(self, comm_processes, *options):
        """With a job that goes on until there is a file `stop`."""
        script = self.folder / "job.sh"
        job = " ".join(mpirun("mpich", 4, "numbered", "alone", "stop", "counts", 5))
        script.write_text(f'#!/bin/sh\numask 077\necho "$XYLEM_ADDRESS $XYLEM_RUN $XYLEM_KEY" > said.part\n'
                          f"mv said.part said\n{job}\necho done\n")
        script.chmod(0o755)
        self.process = self.start("run", "--store", "run.db", *options, "--", str(script))
        said = self.folder / "said"
        wait_until(said.exists, "the job has started")
        address, self.run, key = said.read_text().split()
        self.key = bytes.fromhex(key)
        self.store = Store(self.folder / "run.db")
        wait_until(lambda: self.is_settled(comm_processes), "the tree stands")
        return address

    def pids(self, name):
        programs = all_xylem_processes()  # A process may have ended since.
        return sorted(pid for pid in self.own_processes()
                      if pid in programs and os.path.basename(programs[pid][0]) == name)

    def is_settled(self, comm_processes):
        placed = "SELECT count(*) FROM node WHERE state = 'attached' AND role = '{}' AND parent {} 0"
        return (self.store.value(placed.format("comm_process", "=")) == comm_processes and
                self.store.value(placed.format("back_end", ">" if comm_processes else "=")) > 0 and
                self.store.value(placed.format("back_end", "=")) == (0 if comm_processes else 1))

    def listeners(self, address, tls):
        front_end, = self.pids("xylem-frontend")
        listeners = []
        for one in address.split(","):
            if one.startswith("unix:"):
                listeners.append(Listener("front end, Unix", front_end, socket.AF_UNIX, one.removeprefix("unix:"), False))
            else:
                host, port = one.rsplit(":", 1)
                listeners.append(Listener("front end, TCP", front_end, socket.AF_INET, (host, int(port)), tls))
        for comm_process in self.pids("xylem-commproc")[:1]:
            listeners.append(Listener("communication process, TCP", comm_process, socket.AF_INET,
                                      tcp_address_of(comm_process), tls))
        return listeners

    # ---- what strangers do; each returns how often it was refused ----

    def no_key(self, listener):
        said = [b"GET / HTTP/1.0\r\n\r\n", b"\0" * 64, b"\xff" * 5000, client_hello()]
        for text in said:
            with listener.connect() as stranger:
                try:
                    stranger.sendall(text)
                    stranger.shutdown(socket.SHUT_WR)
                    while stranger.recv(4096):
                        pass
                except OSError:
                    pass  # Closed while we were sending.
        return len(said)

    def wrong_key(self, listener):
        if listener.tls:
            host, port = listener.address
            done = subprocess.run(
                ["openssl", "s_client", "-connect", f"{host}:{port}", "-tls1_3", "-psk_identity", "xylem", "-psk",
                 "00" * 32, "-ciphersuites", "TLS_AES_128_GCM_SHA256"],
                input="", capture_output=True, text=True, timeout=DEADLINE)
            self.assertIn("alert", done.stderr)
            return 1
        with listener.connect() as stranger:
            stranger.sendall(hello(self.run))
            theirs = stranger.recv(4096)[-16:]
            stranger.sendall(proof(bytes(32), theirs))
            self.assertIn(b"the key is not that of run", stranger.recv(4096))
        return 1

    def replayed(self, listener):
        """Somebody has listened to a peer that has the key, and says again what it said."""
        with listener.connect() as peer:
            peer.sendall(hello(self.run))
            heard = [hello(self.run), proof(self.key, peer.recv(4096)[-16:])]
            peer.sendall(heard[1])
            self.assertNotIn(b"the key is not", peer.recv(4096))
        answer = listener.answer_to(*heard)
        self.assertIn(b"the key is not that of run", answer)
        return 1

    def let_in(self, listener):
        """A peer that has the key, and nothing good in mind."""
        peer = listener.connect()
        peer.sendall(hello(self.run))
        peer.sendall(proof(self.key, peer.recv(4096)[-16:]))
        return peer

    def liars_with_the_key(self, listener):
        """They are no strangers, so not refused; but they are shut out when they say what cannot be, or half a frame
        and then nothing. What they claim is not allocated."""
        largest = struct.pack("<II", 16 << 20, 0)
        nested = struct.pack("<II", 0xFFFFFFFC, 0x00010000) * 5000
        impossible = [struct.pack("<II", 0xFFFFFFFF, 0), struct.pack("<II", (16 << 20) + 8, 0), b"\0" * 64,
                      struct.pack("<II", len(nested) + 4, 0) + nested]
        liars, began = [], time.monotonic()
        for said in impossible + [largest + bytes(1000)] * LIARS:
            liars.append(self.let_in(listener))
            liars[-1].sendall(said)
        for number, liar in enumerate(liars):
            try:
                while liar.recv(4096):
                    listener.measure()
            except ConnectionError:
                pass  # Shut while it still had something to say to us.
            liar.close()
            if number == len(impossible) - 1:
                at_once = time.monotonic() - began
        print(f"{listener.name}: what cannot be is heard for {at_once:.1f} s, half a frame for "
              f"{time.monotonic() - began:.1f} s; at most {(listener.most - listener.before) >> 10} KiB", flush=True)
        self.assertLess(listener.most - listener.before, MAX_OF_LIARS)

    def lying_lengths(self, listener):
        for length in (0xFFFFFFFF, 0x7FFFFFFF, 16 << 20, 4097, 0):
            self.assertEqual(listener.answer_to(struct.pack("<II", length, 0) + bytes(100)), b"")
        return 5

    def deep_nesting(self, listener):
        """Pointers to themselves, without end."""
        segment = struct.pack("<II", 0xFFFFFFFC, 0x00010000) * 500
        self.assertEqual(listener.answer_to(struct.pack("<II", len(segment) + 4, 0) + segment), b"")
        return 1

    def half_a_frame(self, listener, count):
        """And then silence; on TLS half of its first words."""
        said = client_hello()[:100] if listener.tls else hello(self.run)[:50]
        silent = []
        for _ in range(count):
            stranger = listener.connect()
            stranger.sendall(said)
            silent.append(stranger)
        listener.measure()
        return silent

    def many(self, listener, count):
        """As fast as they can, all open at once as far as the strangers are concerned."""
        open_ones = []
        while len(open_ones) < count:
            batch = []
            for _ in range(min(250, count - len(open_ones))):
                stranger = socket.socket(listener.family)
                stranger.setblocking(False)
                batch.append(stranger)
            deadline = time.monotonic() + 20
            for stranger in batch:
                # On a Unix socket, EAGAIN: the queue of its listener is full. The stranger is not
                # on its way then, though poll() calls such a socket writable.
                while stranger.connect_ex(listener.address) == errno.EAGAIN:
                    self.assertLess(time.monotonic(), deadline, f"{listener.name}: its queue stays full")
                    os.sched_yield()
            left = {s.fileno() for s in batch}
            poll = select.poll()
            for fd in left:
                poll.register(fd, select.POLLOUT)
            while left and time.monotonic() < deadline:
                for fd, _ in poll.poll(100):
                    poll.unregister(fd)
                    left.discard(fd)
            self.assertFalse(left, f"{listener.name}: {len(left)} of {len(open_ones) + len(batch)} are not connected")
            open_ones += batch
            listener.measure()
        return open_ones

    def refused_by_node(self):
        return {row["node"]: row["refused"] for row in
                self.store.rows("SELECT node, max(refused) AS refused FROM link GROUP BY node")}

    def has_refused(self, at_front_end, at_comm_process):
        refused = self.refused_by_node()
        others = [count or 0 for node, count in refused.items() if node != 0]
        return refused.get(0, 0) >= at_front_end and max(others, default=0) >= at_comm_process

    def among_strangers(self, name, names, comm_processes, *options):
        address = self.start_tree(comm_processes, *options)
        began = time.monotonic()
        listeners = [listener for listener in self.listeners(address, name == "TLS") if listener.name in names]
        self.assertEqual({listener.name for listener in listeners}, set(names), address)
        at_front_end = at_comm_process = 0
        open_ones = []
        for listener in listeners:
            refused = self.no_key(listener) + self.wrong_key(listener)
            if not listener.tls:
                self.liars_with_the_key(listener)
                refused += self.replayed(listener) + self.lying_lengths(listener) + self.deep_nesting(listener)
            silent = self.half_a_frame(listener, MAX_AT_ONCE + 20)
            flood = self.many(listener, self.connections if listener.name == "front end, TCP" else 1000)
            refused += len(silent) + len(flood) - MAX_AT_ONCE
            open_ones += silent + flood
            if listener.name.startswith("front end"):
                at_front_end += refused
            else:
                at_comm_process += refused
        for stranger in open_ones:
            stranger.close()
        took = time.monotonic() - began
        said = ""
        for listener in listeners:
            said += f"  {listener.name}: {listener.before >> 10} KiB, at most {listener.most >> 10} KiB\n"
        print(f"{name}, {took:.1f} s, {at_front_end} and {at_comm_process} refused at least:\n{said}",
              end="", flush=True)
        for listener in listeners:
            self.assertLess(listener.most - listener.before, MAX_GROWTH[name], listener.name)
        # Those that nobody has accepted yet are refused only while the run lasts.
        wait_until(lambda: self.has_refused(at_front_end, at_comm_process), "all of them are refused")
        (self.folder / "stop").touch()
        output, errors = self.process.communicate(timeout=DEADLINE)
        self.assertEqual((self.process.returncode, output), (0, "done\n"), errors)
        self.assertIn("connection refused", errors)
        self.assertIn("more connections refused", errors)
        self.assertLess(errors.count("\n"), 60, "the log is flooded")
        refused = self.refused_by_node()
        shown = json.loads(self.xylem("tree", "run.db", "--json").stdout)["processes"]
        self.assertEqual({row["id"]: row["refused"] for row in shown if row["refused"]},
                         {node: count for node, count in refused.items() if count})
        for line in self.store.account():
            self.assertEqual((line["stored"], line["lost"], line["complete"]), (line["captured"], 0, 1), line)
        self.assertEqual(len(self.store.account()), 4)
        self.assert_nothing_left()

    def test_over_tls(self):
        self.among_strangers("TLS", TCP_DOORS, 2, "--test-size", "4", "--topology", "kary:2")

    def test_over_plain_tcp(self):
        self.among_strangers("plain", TCP_DOORS, 2, "--test-size", "4", "--topology", "kary:2", "--tls", "off")

    def test_over_a_unix_socket(self):
        self.among_strangers("Unix", ["front end, Unix"], 0)


if __name__ == "__main__":
    unittest.main()

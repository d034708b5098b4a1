#!/usr/bin/env python3
"""On a host with two networks, a run uses only the chosen one."""

import os
import pathlib
import re
import subprocess
import unittest

from harness import DEADLINE, XYLEM, WholeSystemTest, environment, mpirun, wait_until

NETWORKS = """set -e
ip link set lo up
for n in 1 2; do
  ip link add net$n type veth peer name far$n
  ip address add 10.77.$n.1/24 dev net$n
  ip -6 address add fd77:$n::1/64 dev net$n nodad
  ip link set net$n up
  ip link set far$n up
done
exec "$@"
"""


def alone(*command):
    """The command in a network of its own: net1 is 10.77.1.1 and fd77:1::1, net2 likewise."""
    own = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-rn"]
    return [*own, "sh", "-c", NETWORKS, "sh", *map(str, command)]


def listening(pid):
    """The TCP sockets on which a process listens, as addresses in the kernel's hexadecimal."""
    process = pathlib.Path("/proc") / str(pid)
    inodes = set()
    for fd in (process / "fd").iterdir():
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(fd)))
        except OSError:
            pass
    found = set()
    for table in ("tcp", "tcp6"):
        for line in (process / "net" / table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                found.add(words[1].split(":")[0])
    return found


@unittest.skipUnless(subprocess.run(alone("true"), capture_output=True).returncode == 0, "no network of our own here")
class Interface(WholeSystemTest):
    def start_alone(self, *arguments):
        process = subprocess.Popen(alone(XYLEM, *arguments), env=environment(), cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def listeners(self, program):
        return [found for pid, command in self.own_processes().items()
                if f"xylem-{program}" in " ".join(command.split()[:1]) and (found := listening(pid))]

    def addresses(self, *options):
        """What the ranks are told."""
        done = subprocess.run(alone(XYLEM, "run", "--quiet", *options, "--", "sh", "-c", "echo $XYLEM_ADDRESS"),
                              env=environment(), cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.sub(r":\d+(,|$)", r"\1", done.stdout.strip()).split(",")[1:]

    def test_no_process_of_the_run_listens_on_another_network(self):
        job = self.start_alone("run", "--interface", "net2", "--test-size", "4", "--topology", "kary:2",
                               "--store", "x.db", "--", *mpirun("openmpi", 4, "behave", "loop", 6))
        wait_until(lambda: len(self.listeners("commproc")) >= 2, "two communication processes listen")
        for program in ("frontend", "commproc"):
            for found in self.listeners(program):
                self.assertEqual(found, {"01024D0A"}, f"{program} listens elsewhere than on 10.77.2.1")
        self.assertEqual(job.wait(timeout=DEADLINE), 0)
        self.assertIn("complete", job.stderr.read())

    def test_all_announces_both_families_and_no_loopback(self):
        self.assertEqual(self.addresses("--interface", "all"),
                         ["10.77.1.1", "10.77.2.1", "[fd77:1::1]", "[fd77:2::1]"])

    def test_all_is_reached_by_each_address_that_it_announces(self):
        connect = ("import os, socket\nfor one in os.environ['XYLEM_ADDRESS'].split(',')[1:]:\n"
                   "  host, port = one.rsplit(':', 1)\n"
                   "  socket.create_connection((host.strip('[]'), int(port)), timeout=10).close()\n"
                   "  print(one.count(':'))")
        done = subprocess.run(alone(XYLEM, "run", "--quiet", "--interface", "all", "--", "python3", "-c", connect),
                              env=environment(), cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual((done.returncode, done.stdout.split()), (0, ["1", "1", "4", "4"]), done.stderr)

    def test_all_is_ipv4_where_ipv6_is_off(self):
        off = 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 || exit 77; exec "$@"'
        done = subprocess.run(alone("sh", "-c", off, "sh", XYLEM, "run", "--quiet", "--interface", "all", "--", "sh",
                                    "-c", "echo $XYLEM_ADDRESS"),
                              env=environment(), cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE)
        if done.returncode == 77:
            self.skipTest("IPv6 cannot be switched off here")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r",(\S+?):\d+(?=,|\n)", done.stdout), ["10.77.1.1", "10.77.2.1"])

    def test_an_address_of_ipv6_is_announced_alone(self):
        self.assertEqual(self.addresses("--interface", "fd77:2::1"), ["[fd77:2::1]"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

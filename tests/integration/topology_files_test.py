#!/usr/bin/env python3
"""Starts every example of topology_files/: a back end on each of its hosts, a wave from all of them.
Hosts are processes with a host name of their own on this machine (UTS namespaces, so it needs root)."""

import os
import re
import shlex
import socket
import subprocess
import unittest

from harness import BUILD, DEADLINE, SOURCE, WholeSystemTest, environment, mpirun

FOLDER = SOURCE / "topology_files"
TOOL, COMM_PROCESS = BUILD / "tests/tool_process", BUILD / "libexec/xylem/xylem-commproc"

# LAUNCHER HOST COMMAND...: runs the command here, on a host of that name.
LAUNCHER = """#!/bin/sh
name=$1; shift
exec unshare --uts sh -c 'hostname "$1" && exec sh -c "$2"' sh "$name" "$*"
"""

# Communication processes where no back end is: for a job, as tools start none there.
FOREIGN = ["carrier_host.topo", "extra_hosts.topo"]

# Back ends of these files are not just where their communication processes are.
BACK_ENDS = {
    "front_end_alone.topo": ["node1", "node2"],
    "kary.topo": [f"node{i}" for i in range(1, 10)],
    "one_host.topo": [socket.gethostname()],
}


def processes(text):
    """Children by parent, as HOST:NUMBER."""
    statements = re.sub(r"#.*", "", text).split(";")
    family = {}
    for words in filter(None, (statement.split() for statement in statements)):
        family[words[0]] = words[2:]
    return family


def host_of(process):
    return process.rsplit(":", 1)[0]


@unittest.skipUnless(os.geteuid() == 0, "names of hosts need root")
class TopologyFiles(WholeSystemTest):
    def setUp(self):
        super().setUp()
        self.launcher = self.folder / "launcher"
        self.launcher.write_text(LAUNCHER)
        self.launcher.chmod(0o755)

    def started(self, path, hosts):
        """What the tool prints of the tree: the sum, the nodes, the topology."""
        done = subprocess.run([TOOL, "start", ",".join(hosts), self.launcher, COMM_PROCESS, f"file:{path}"],
                              env=environment(), capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assert_is_that_tree(self, printed, path, hosts):
        """A wave came from a leaf on every host, and the processes are on the hosts that the file names."""
        ids = range(1, len(hosts) + 1)
        self.assertIn(f"sum {sum(ids)} of {len(hosts)}\n", printed)
        family = processes(path.read_text())
        front_end = (set(family) - {child for children in family.values() for child in children}).pop()
        here = socket.gethostname()

        def means(process):
            return here if process == front_end or host_of(process) == "localhost" else host_of(process)

        expected = sorted((means(child), means(parent)) for parent, children in family.items() for child in children)
        there = processes(printed.split("topology\n")[1])
        found = sorted((host_of(child), host_of(parent)) for parent, children in there.items() for child in children)
        self.assertEqual(found, expected)
        on = dict(re.findall(r"^(\d+) \w+ (\S+)", printed, re.MULTILINE))
        self.assertCountEqual([on[node] for node in re.findall(r"^(\d+) back_end", printed, re.MULTILINE)], hosts)

    def test_each_topology_starts_on_the_hosts_that_it_names_and_passes_a_wave(self):
        examples = sorted(FOLDER.glob("*.topo"))
        self.assertGreaterEqual(len(examples), 11)
        for path in [path for path in examples if path.name not in FOREIGN]:
            with self.subTest(path.name):
                family = processes(path.read_text())
                hosts = BACK_ENDS.get(path.name) or sorted(
                    {host_of(child) for children in family.values() for child in children})
                self.assert_is_that_tree(self.started(path, hosts), path, hosts)
        self.assert_nothing_left()

    def test_a_job_is_watched_below_hosts_that_are_none_of_its_own(self):
        for name in FOREIGN:
            with self.subTest(name):
                path = FOLDER / name
                store = self.run_job(mpirun("openmpi", 2, "behave", "loop", 8), "--overwrite", "--topology", path,
                                     "--launcher", self.launcher)
                self.assert_adds_up(store)
                self.assertEqual([line["complete"] for line in store.account()], [1, 1])
                nodes = store.rows("SELECT n.role, n.host, n.state, p.host AS parent FROM node n"
                                   " JOIN node p ON p.id = n.parent WHERE n.id != p.id")
                family = processes(path.read_text())
                leaves = {child for children in family.values() for child in children} - set(family)
                self.assertEqual(sorted(host_of(child) for children in family.values() for child in children),
                                 sorted(node["host"] for node in nodes if node["role"] == "comm_process"))
                self.assertEqual({node["state"] for node in nodes}, {"left"})
                back_end, = [node for node in nodes if node["role"] == "back_end"]
                self.assertIn(back_end["parent"], {host_of(leaf) for leaf in leaves})
        self.assert_nothing_left()

    def test_a_file_that_names_a_command_is_what_that_prints(self):
        commands = 0
        for path in sorted(FOLDER.glob("*.topo")):
            for command in re.findall(r"^# +xylem (place .*)$", path.read_text(), re.MULTILINE):
                with self.subTest(path.name):
                    commands += 1
                    done = self.xylem(*shlex.split(command), cwd=FOLDER)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(processes(done.stdout), processes(path.read_text()))
        self.assertGreaterEqual(commands, 5)

    def test_hosts_are_placed_by_their_facts_and_the_tree_starts(self):
        for config in ("fuzzy.toml", "compared.toml"):
            with self.subTest(config):
                done = self.xylem("place", "--hosts", "node[1-4]", "--comm-processes", 3, "--placement", "fuzzy",
                                  "--facts", FOLDER / "four_hosts.facts", "--config", FOLDER / config)
                self.assertEqual(done.returncode, 0, done.stderr)
                path = self.folder / f"{config}.topo"
                path.write_text(done.stdout)
                hosts = [f"node{i}" for i in range(1, 5)]
                self.assert_is_that_tree(self.started(path, hosts), path, hosts)
                self.assertNotIn("node4", re.sub(r"^\d+ back_end.*$", "", path.read_text()), "the slow one carries one")


if __name__ == "__main__":
    unittest.main()

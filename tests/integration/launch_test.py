#!/usr/bin/env python3
"""Starting a tool's back ends by a launcher and by real ssh on an emulated cluster; launchers that fail; and starting
communication processes through back ends, which needs no file, no login, no resource manager. Needs root."""

import os
import re
import unittest

from emulated_cluster import RSH, EmulatedClusterTest
from harness import BUILD, DEADLINE, PROGRAMS, XYLEM, Store

TOOL = BUILD / "tests/tool_process"
COMMPROC = BUILD / "libexec/xylem/xylem-commproc"
REMOTE = ("ssh", "slogin", "rsh", "remsh", "pdsh", "srun", "sbatch", "salloc", "sinfo", "squeue", "scontrol", "qsub",
          "qstat", "pbsdsh", "bsub", "blaunch", "aprun", "flux")


class Launching(EmulatedClusterTest):
    HOSTS = 4
    OPTIONS = ("--sshd",)
    NETWORK = "10.82"

    def start_tool(self, hosts, launcher, *shape, expect=0):
        done = self.on("head", TOOL, "start", hosts, launcher, COMMPROC, *shape)
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        return done

    def assert_whole(self, done):
        self.assertRegex(done.stdout, r"^sum 10 of 4\n", done.stderr)
        for host in self.hosts():
            self.assertRegex(done.stdout, f"back_end {host} ", done.stdout)
        self.assertEqual(done.stdout.count("comm_process"), 2, done.stdout)
        self.assert_nothing_on_any_host()

    def test_any_launcher_starts_back_ends_on_other_hosts(self):
        self.assert_whole(self.start_tool("node[01-04]", RSH))

    def test_the_topology_that_a_tool_prints_starts_the_same_tree_again(self):
        printed = self.start_tool("node[01-04]", RSH).stdout.partition("topology\n")[2]
        self.assertRegex(printed, r"^head:0 => node0\d:0 node0\d:0 ;\n$")
        (self.folder / "printed.topo").write_text(printed)
        again = self.start_tool("node[01-04]", RSH, f"file:{self.folder}/printed.topo")
        self.assert_whole(again)
        self.assertEqual(again.stdout.partition("topology\n")[2], printed)

    def test_ssh_starts_back_ends_on_other_hosts(self):
        self.assert_whole(self.start_tool("node[01-04]", ""))

    def test_a_launcher_that_fails_is_told_with_the_host_and_its_words(self):
        for hosts, launcher, sentence in [
                ("node01,nohost", "", r"a back end on nohost, started by ssh -o BatchMode=yes, ended with code 255: "
                                      r"ssh: Could not resolve hostname nohost: .* \(try it: ssh .* nohost true\)"),
                # Back ends that fail at about the same time are told together.
                ("node[01-03]", "ssh -p 1", r"a back end on node\S+, started by ssh -p 1, ended with code 255: "
                                            r"ssh: connect to host node0\d port 1: Connection refused"),
                ("node[01-02]", "ssh -o BatchMode=yes -o IdentityFile=/nonexistent -o IdentitiesOnly=yes -F /dev/null "
                                "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null",
                 r"a back end on node\S+, .* ended with code 255: .*Permission denied"),
                ("nohost", RSH, r"a back end on nohost, started by \S+cluster-rsh, ended with code 1: "
                                r"cluster.sh: no running host 'nohost'"),
                ("node01", "nosuchlauncher", r"cannot start nosuchlauncher: No such file or directory; "
                                             r"is it installed, and in PATH\?")]:
            with self.subTest(hosts=hosts, launcher=launcher):
                done = self.start_tool(hosts, launcher, expect=1)
                said = done.stderr.strip().splitlines()[-1]
                self.assertRegex(said, "tool_process: " + sentence)
        self.assert_nothing_on_any_host()

    def test_a_host_that_does_not_answer_is_named_when_time_is_up(self):
        self.cluster("partition", "node02")
        try:
            done = self.on("head", TOOL, "start", "node[01-02]", "ssh -o BatchMode=yes -o ConnectTimeout=2", COMMPROC)
        finally:
            self.cluster("heal")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"a back end on node02, .*: ssh: connect to host node02 port 22: ")
        self.assert_nothing_on_any_host()


    def run_below_other_hosts(self, *options):
        """A job on two hosts, below communication processes on two others."""
        (self.folder / "x.topo").write_text("head:0 => node03:0 ;\nnode03:0 => node03:1 node04:0 ;\n")
        job = self.open_mpi({"node01": 1, "node02": 1}, PROGRAMS / "behave.openmpi", "loop", 8)
        done = self.on("head", XYLEM, "run", "--store", "run.db", "--overwrite", "--topology", "x.topo", *options,
                       "--", *job)
        self.assertEqual(done.returncode, 0, done.stderr)
        store = Store(self.folder / "run.db")
        self.assertEqual([line["complete"] for line in store.account()], [1, 1], done.stderr)
        self.assertEqual({line["lost"] for line in store.account()}, {0})
        nodes = store.rows("SELECT n.role, n.host, n.state, p.host AS parent FROM node n JOIN node p ON p.id = n.parent"
                           " ORDER BY n.host, n.id")
        self.assert_nothing_on_any_host()
        return done, nodes

    def test_a_launcher_starts_communication_processes_where_the_job_is_not(self):
        for launcher in (str(RSH), "ssh -o BatchMode=yes"):
            with self.subTest(launcher=launcher):
                done, nodes = self.run_below_other_hosts("--launcher", launcher)
                self.assertEqual([(n["role"], n["host"], n["parent"], n["state"]) for n in nodes
                                  if n["role"] == "comm_process"],
                                 [("comm_process", "node03", "head", "left"),
                                  ("comm_process", "node03", "node03", "left"),
                                  ("comm_process", "node04", "node03", "left")], done.stderr)
                self.assertEqual(sorted(n["parent"] for n in nodes if n["role"] == "back_end"),
                                 ["node03", "node04"], nodes)

    def test_a_run_does_without_what_its_launcher_cannot_start_and_says_why(self):
        done, nodes = self.run_below_other_hosts("--launcher", "ssh -p 1")
        self.assertRegex(done.stderr, "communication process ended .*host=node04 .*ssh -p 1 node04 ended with code "
                                      "255: ssh: connect to host node04 port 1: Connection refused")
        self.assertEqual({n["state"] for n in nodes if n["role"] == "comm_process"}, {"lost"})
        self.assertEqual({n["parent"] for n in nodes if n["role"] == "back_end"}, {"head"})

    def test_without_a_launcher_a_host_that_the_job_does_not_use_is_refused(self):
        done, nodes = self.run_below_other_hosts()
        self.assertIn("host node03 is not part of this job", done.stderr)
        self.assertEqual([n["role"] for n in nodes], ["back_end", "back_end"])


class StartThroughBackEnds(EmulatedClusterTest):
    HOSTS = 4
    NETWORK = "10.83"

    def test_takes_no_file_no_login_and_no_resource_manager(self):
        """The whole run is traced: every program that is executed and every file that is made, on all hosts."""
        traps = self.folder / "traps"
        traps.mkdir()
        for name in REMOTE:
            (traps / name).write_text(f"#!/bin/sh\necho {name} \"$@\" >>{self.folder}/trapped\nexit 1\n")
            (traps / name).chmod(0o755)
        trace = self.folder / "trace"
        job = self.open_mpi({host: 1 for host in self.hosts()}, PROGRAMS / "behave.openmpi", "loop", 4)
        done = self.on("head", "env", f"PATH={traps}:{os.environ['PATH']}", "strace", "-f", "-qq", "--seccomp-bpf",
                       "-o", trace, "-s", "300", "-e",
                       "trace=execve,openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,"
                       "symlinkat,mknod,mknodat", "-e", "signal=none",
                       XYLEM, "run", "--store", "run.db", "--topology", "kary:2", "--", *job, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        store = Store(self.folder / "run.db")
        self.assertEqual(store.value("SELECT count(*) FROM node WHERE role = 'comm_process' AND state = 'left'"), 2)
        self.assertEqual(store.value("SELECT count(*) FROM node WHERE role = 'back_end'"), 4)

        programs, written = self.read_trace(trace)
        self.assertEqual(programs.count("xylem-commproc"), 2, programs)
        self.assertGreaterEqual(programs.count("xylem-backend"), 4, programs)
        self.assertEqual(programs.count("behave.openmpi"), 4, programs)
        self.assertFalse((self.folder / "trapped").exists(), "remote logins and resource managers")
        self.assertEqual(set(programs) & set(REMOTE), set())
        self.assertEqual(written, {}, "files made or opened for writing by xylem, besides its store")
        self.assert_nothing_on_any_host()

    @staticmethod
    def calls_in(trace):
        """(process id, call) of each line; calls that others interrupted are put together again."""
        begun = {}
        for line in trace.read_text(errors="replace").splitlines():
            pid, _, call = line.partition(" ")
            call = call.strip()
            if call.endswith("<unfinished ...>"):
                begun[pid] = call.removesuffix("<unfinished ...>")
                continue
            resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", call)
            yield pid, begun.pop(pid, "") + resumed[1] if resumed else call

    def read_trace(self, trace):
        """The programs that processes became, and the files that processes of xylem have made or written, by
        program, ranks included. Not counted: the run's result, which is the store, and the nameless file that keeps
        room for its end; what is memory; and Open MPI's own session."""
        programs, now, written = [], {}, {}
        not_counted = re.compile(r"^/dev/|^/proc/|/ompi\.|/pmix")
        store = str(self.folder / "run.db")
        for pid, call in self.calls_in(trace):
            if re.search(r" = -1 ", call):
                continue
            executed = re.match(r'execve\("([^"]+)"', call)
            if executed:
                now[pid] = os.path.basename(executed[1])
                programs.append(now[pid])
                continue
            changes = not call.startswith("open") or re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", call)
            if not changes or "O_TMPFILE" in call or not now.get(pid, "").startswith(("xylem", "behave")):
                continue
            for path in re.findall(r'"([^"]*)"', call):
                if not not_counted.search(path) and not os.path.join(self.folder, path).startswith(store):
                    written.setdefault(now[pid], set()).add(path)
        return programs, written


if __name__ == "__main__":
    unittest.main(verbosity=2)

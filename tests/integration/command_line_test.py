#!/usr/bin/env python3
"""Typing errors: one sentence that begins with xylem: names the error, and nothing is started or overwritten."""

import json
import os
import re
import shlex
import socket
import subprocess
import unittest

from harness import WholeSystemTest, mpirun


class CommandLine(WholeSystemTest):
    def refused(self, *words):
        """The sentence with which xylem refuses these words; exit code 2 and no store."""
        done = self.xylem(*words)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"\Axylem: [^\n]+\n\Z")
        self.assertEqual(list(self.folder.glob("*")), [], "something was made")
        return done.stderr

    def test_a_switch_that_is_false_or_nothing_overwrites_no_store(self):
        first = self.xylem("run", "--store", "x.db", "--quiet", "--", *mpirun("mpich", 1, "behave", "exit", 0))
        self.assertEqual(first.returncode, 0, first.stderr)
        before = (self.folder / "x.db").read_bytes()
        for value, said in (("false", "x.db"), ("banana", "--overwrite: 'banana' is neither true nor false")):
            done = self.xylem("run", "--store", "x.db", f"--overwrite={value}", "--", "true")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertEqual((self.folder / "x.db").read_bytes(), before)
        done = self.xylem("run", "--store", "x.db", "--overwrite=true", "--quiet=false", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no MPI process has registered", done.stderr, "--quiet=false was taken for --quiet")

    def test_a_mistyped_option_is_no_command(self):
        self.assertIn("--stor is not an option of xylem run", self.refused("run", "--stor", "x", "--", "true"))
        self.assertIn("--stor is not an option", self.refused("run", "--stor", "x", "true"))
        self.assertIn("-n is not an option", self.refused("run", "-n", "4", "./app"))
        self.assertIn("--env-fil is not an option of xylem exec", self.refused("exec", "--env-fil", "x", "--", "true"))

    def test_dashes_within_a_command_are_the_commands(self):
        done = self.xylem("run", "--quiet", "sh", "-c", 'echo "$0 $1"', "--", "word")
        self.assertEqual((done.returncode, done.stdout), (0, "-- word\n"), done.stderr)
        done = self.xylem("run", "--quiet", "--", "sh", "-c", 'echo "$0 $1"', "--", "word")
        self.assertEqual((done.returncode, done.stdout), (0, "-- word\n"), done.stderr)

    def test_the_wrong_word_is_named(self):
        self.assertIn("'fnord' is not a verb of xylem; the verbs are run, serve, exec, attach, place, ls, query, report, "
                      "top, tree, view, export, lines, predict, calibrate, completion",
                      self.refused("fnord"))
        self.assertIn("--fnord is not an option of xylem", self.refused("--fnord", "run"))
        for verb in ("query", "report", "tree", "view"):
            self.assertIn(f"{verb}: not expected: '--fnord'", self.refused(verb, "--fnord", "x.db"))
        self.assertIn("report: not expected: 'y'", self.refused("report", "x.db", "y"))
        self.assertIn("--csv excludes --json", self.refused("query", "x.db", "--csv", "--json"))
        self.assertIn("--until-pid = self", self.refused("serve", "--until-pid", "self"))
        self.assertIn("run: --store", self.refused("run", "--store"))

    def test_the_right_word_is_proposed(self):
        for words, right in ((["repotr"], "report"), (["report", "--jsno"], "--json"), (["--hlep"], "--help"),
                             (["run", "--detial", "trace", "--", "true"], "--detail"),
                             (["run", "--detail", "trce", "--", "true"], "trace"),
                             (["top", "--pane", "rank"], "ranks"), (["completion", "bsh"], "bash"),
                             (["predict", "x.goal", "--target", "t", "--model", "chanels"], "channels"),
                             (["place", "--hosts", "a", "--placement", "fuzy"], "fuzzy")):
            self.assertIn(f" (did you mean {right}?)", self.refused(*words))

    def test_xylem_alone_is_the_help(self):
        alone, helped = self.xylem(), self.xylem("--help")
        self.assertEqual((alone.returncode, alone.stdout, alone.stderr), (0, helped.stdout, ""))
        self.assertIn("xylem run -- mpirun -n 4 ./app", alone.stdout)

    def test_the_help_names_values(self):
        text = self.xylem("run", "--help").stdout
        for option in ("--store FILE", "--window TIME", "--exclude LIST", "--detail profile|trace", "--port N",
                       "--topology SHAPE"):
            self.assertIn(f"  {option} ", text)
        for verb in ("run", "serve", "exec", "attach", "place", "ls", "query", "report", "top", "tree", "view",
                     "predict", "calibrate"):
            self.assertNotRegex(self.xylem(verb, "--help").stdout, r"\b(TEXT|FLOAT)\b", verb)

    def test_the_newest_run_is_taken_and_named(self):
        for verb in (["report"], ["tree"], ["query", "SELECT 1"]):
            done = self.xylem(*verb)
            self.assertEqual((done.returncode, done.stdout), (1, ""), verb)
            self.assertIn("no file in this folder is a run", done.stderr)
        listed = self.xylem("ls")
        self.assertEqual((listed.returncode, listed.stdout), (0, ""))
        self.assertIn("start one with xylem run", listed.stderr)
        for name in ("first", "second"):
            self.run_job(mpirun("mpich", 2, "behave", "exit", 0), "--quiet", name=name)
        for verb, said in (("report", "2 ranks"), ("tree", "front_end"), ("top", "calls captured"),
                           ("query", "2\n")):
            sql = ["SELECT count(*) AS ranks FROM rank"] if verb == "query" else []
            done = self.xylem(verb, *sql)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(said, done.stdout)
            self.assertRegex(done.stderr, rf"\Axylem {verb}: the newest run is second \(ended, started [^)]+ UTC\)\n\Z")
        listed = self.xylem("ls").stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in listed],
                         [["file", "state"], ["second", "ended"], ["first", "ended"]])
        runs = json.loads(self.xylem("ls", "--json").stdout)
        self.assertEqual((runs["version"], runs["view"]), (1, "ls"))
        self.assertEqual([(run["file"], run["state"], run["ranks"], run["hosts"], run["exit_code"]) for run in runs["runs"]],
                         [(str(self.folder / name), "ended", 2, 1, 0) for name in ("second", "first")])

    def test_each_json_is_one_object_of_the_same_form(self):
        store = self.run_job(mpirun("mpich", 2, "behave", "exit", 0), "--quiet")
        for words in (["ls"], ["query", store.path, "SELECT 1 AS one; SELECT 2 AS two"], ["report", store.path],
                      ["top", store.path], ["tree", store.path], ["place", "--recorded", store.path]):
            done = self.xylem(*words, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            answer = json.loads(done.stdout)
            self.assertEqual(list(answer)[:2], ["version", "view"], words)
            self.assertEqual((answer["version"], answer["view"]), (1, words[0]))
            for name in re.findall(r'"([^"]+)":', done.stdout):
                self.assertRegex(name, r"\A[a-z][a-z0-9_]*\Z|\A" + re.escape(socket.gethostname()) + r"\Z", words)

    def test_a_launcher_that_refuses_is_told_as_what_it_is(self):
        job = [*mpirun("openmpi", 2, "behave", "exit", 0)]
        slots = [word for word in job if word != "--oversubscribe"]
        slots[slots.index("-n") + 1] = "5000"
        done = self.xylem("run", "--store", "x.db", "--", *slots)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("xylem: no MPI process has registered (mpirun.openmpi of Open MPI exited with code 1 and may have "
                      "refused the job: see its own message above, and add --oversubscribe if it names too few slots; "
                      "otherwise perhaps ", done.stderr)
        if os.geteuid() != 0:
            return
        done = self.xylem("run", "--store", "y.db", "--", *job, env={"OMPI_ALLOW_RUN_AS_ROOT": ""})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("xylem: no MPI process has registered: mpirun.openmpi of Open MPI does not start a job as root; "
                      "add --allow-run-as-root, or run as another user; ", done.stderr)

    def test_bash_completes_the_words_that_xylem_takes(self):
        script = self.folder / "xylem.bash"
        script.write_text(self.xylem("completion", "bash").stdout)
        def offered(*words):
            line = " ".join(shlex.quote(word) for word in words)
            ask = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _xylem; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            return subprocess.run(["bash", "--norc", "-c", ask], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(offered("xylem", "rep"), ["report"])
        self.assertEqual(offered("xylem", "run", "--detail", ""), ["profile", "trace"])
        self.assertEqual(offered("xylem", "top", "--pane", "n"), ["notices"])
        for verb in ("run", "serve", "exec", "attach", "place", "ls", "query", "report", "top", "tree", "view",
                     "predict"):
            text = self.xylem(verb, "--help").stdout
            self.assertEqual(sorted(offered("xylem", verb, "--")),
                             sorted(re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]+)", text, re.MULTILINE)), verb)

    def test_place_prints_a_topology_that_is_read_back(self):
        words = ["place", "--hosts", "localhost", "--ranks", "4", "--comm-processes", "2", "--front-end", "localhost"]
        done = self.xylem(*words)
        self.assertEqual((done.returncode, done.stdout), (0, "localhost:0 => localhost:1 localhost:2 ;\n"), done.stderr)
        (self.folder / "x.topo").write_text(done.stdout)
        done = self.xylem("place", "--hosts", "localhost", "--topology", "x.topo", "--front-end", "localhost")
        self.assertEqual((done.returncode, done.stdout), (0, (self.folder / "x.topo").read_text()), done.stderr)
        (self.folder / "x.topo").unlink()
        self.assertIn("--hosts: host list:", self.refused("place", "--hosts", "a["))
        self.assertIn("no hosts are named", self.refused("place"))
        self.assertIn("--explain excludes --json", self.refused("place", "--hosts", "a", "--explain", "--json"))

    def test_predict_prints_a_target_that_is_read_back(self):
        done = self.xylem("predict", "--print-target")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (self.folder / "x.toml").write_text(done.stdout)
        for model, switches in (("loggps", 0), ("analytic", 3), ("channels", 3)):
            done = self.xylem("predict", "--target", "x.toml", "--model", model, "--message", "0,63,1000", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["switches"], switches)
        for preset in ("ib-hdr200", "ib-20g", "10gbe"):
            done = self.xylem("predict", "--print-target", preset)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            (self.folder / "x.toml").write_text(done.stdout)
            done = self.xylem("predict", "--target", "x.toml", "--model", "channels", "--message", "0,40,1000")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        (self.folder / "x.toml").unlink()
        self.assertIn("presets are ib-hdr200, ib-20g, 10gbe", self.refused("predict", "--print-target", "myrinet"))
        for arguments, fault in ((("x.goal",), "there is no machine; give it with --target FILE"),
                                 (("--message", "0,1,2"), "there is no machine; give it with --target FILE"),
                                 (("--target", "x.toml"), "there is no program; give a SOURCE, or --synthesise with a pattern")):
            done = self.xylem("predict", *arguments)
            self.assertEqual((done.returncode, done.stderr), (2, f"xylem predict: {fault}\n"))
        self.assertIn("SOURCE excludes --message", self.refused("predict", "a", "--target", "b", "--message", "0,1,2"))
        self.assertIn("--message: write two ranks", self.refused("predict", "--target", "b", "--message", "0,1"))

    def test_predict_makes_accesses_to_files_in_their_order(self):
        example, storage = self.xylem("predict", "--print-target").stdout.split("# [storage]\n")
        (self.folder / "x.toml").write_text(example + "[storage]\n" + re.sub(r"(?m)^# ", "", storage))
        done = self.xylem("predict", "--target", "x.toml", "--read", "0,a,0,4096", "--read", "0,a,0,4096", "--write", "1,b,0,1",
                          "--read", "0,b,0,1", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        accesses = json.loads(done.stdout)["accesses"]
        self.assertEqual([(it["path"], it["write"], it["hit_pages"]) for it in accesses],
                         [("b", True, 0), ("a", False, 0), ("a", False, 1), ("b", False, 1)])
        (self.folder / "x.toml").unlink()
        self.assertIn("--read: write a rank, a name, an offset", self.refused("predict", "--target", "b", "--read", "0,a"))
        self.assertIn("SOURCE excludes --read", self.refused("predict", "a", "--target", "b", "--read", "0,a,0,1"))

    def test_help_names_what_the_code_takes(self):
        text = " ".join(self.xylem("run", "--help").stdout.split())
        for shape in re.findall(r"[a-z]+:[A-Z]+\w*", text):
            self.assertIn(shape.split(":")[0], ("kary", "balanced", "binomial"))
        for word in ("binomial:ORDER", "MPI_Improbe"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""Start and end of a run are quick."""

import statistics
import subprocess
import time
import unittest

from harness import DEADLINE, XYLEM, WholeSystemTest, environment, mpirun

ADDED_LIMIT_S = 0.1


class Time(WholeSystemTest):
    def test_start_and_end_add_at_most_a_tenth_of_a_second(self):
        # In pairs, since others use the machine too; the best of three medians. Where processors are so busy that the
        # job alone takes longer than that (0.05 s on an idle machine), start and end may take as long as the job.
        job = mpirun("mpich", 2, "count_calls", 1, 1, 1, self.folder / "own")

        def lasts(command):
            began = time.monotonic()
            subprocess.run(command, env=environment(), cwd=self.folder, check=True, capture_output=True, timeout=DEADLINE)
            return time.monotonic() - began

        medians = []
        for _ in range(3):
            alone = [lasts(job)]
            added = []
            for _ in range(11):
                added.append(lasts([XYLEM, "run", "--overwrite", "--store", "run.db", "--", *job]) - alone[-1])
                alone.append(lasts(job))
            medians.append((statistics.median(added), statistics.median(alone)))
            if medians[-1][0] <= ADDED_LIMIT_S:
                break
        print(f"added by start and end, and the job alone, medians of 11: "
              f"{[(round(a, 3), round(b, 3)) for a, b in medians]} s", flush=True)
        added, alone = min(medians)
        self.assertLessEqual(added, max(ADDED_LIMIT_S, alone))


if __name__ == "__main__":
    unittest.main(verbosity=2)

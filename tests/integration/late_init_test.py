#!/usr/bin/env python3
"""MPI_Init after half a minute: longer than every timeout before the first rank. Label: long."""

import unittest

from harness import LAUNCHERS, WholeSystemTest, mpirun


class LateInit(WholeSystemTest):
    def test_a_job_that_initializes_mpi_after_30_seconds_is_captured_whole(self):
        for library in LAUNCHERS:
            with self.subTest(library):
                store = self.run_job(mpirun(library, 2, "behave", "late", 30), "--overwrite")
                account = store.account()
                self.assertEqual(len(account), 2)
                for line in account:
                    self.assertEqual((line["captured"], line["lost"], line["complete"]), (line["stored"], 0, 1), line)
                    self.assertGreater(line["captured"], 1000)
                self.assert_intact(store)
                self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)

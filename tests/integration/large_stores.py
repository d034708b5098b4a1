"""Files of large runs, for tests and pictures of what no machine for tests can run: by tests/support/large_run, and a tree for it."""

import sqlite3
import subprocess

from harness import BUILD, Store

REASON = "even: fewest processes first, 1 there"  # As placement/place.cc says it.


def large_run(path, ranks, seconds, events=0):
    """A run of 16 ranks a host, and its store."""
    subprocess.run([BUILD / "tests/make_large_run", path, str(ranks), str(seconds), str(events)], check=True,
                   stdout=subprocess.DEVNULL)
    return Store(path)


def add_tree(path, hosts, fanout):
    """Instead of the tree that the run was written with: a front end, as many communication processes as `hosts` back ends need by
    `fanout`, and those, all of them well."""
    inner = -(-hosts // fanout)
    nodes = [(0, "front_end", "login", None, 0, None, None)]
    nodes += [(1 + at, "comm_process", f"node{at * fanout}", 0, 1, None, REASON)
              for at in range(inner)]
    nodes += [(1 + inner + leaf, "back_end", f"node{leaf}", 1 + leaf // fanout, 2, leaf, None) for leaf in range(hosts)]
    with sqlite3.connect(path) as file:
        for table in ("node", "node_change", "link", "link_sample"):
            file.execute(f"DELETE FROM {table}")
        end = file.execute("SELECT ended_ns - started_ns FROM run").fetchone()[0]
        file.executemany("INSERT INTO node(id, role, host, parent, level, leaf, state, host_key, reason)"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'attached', ?3, ?7)", nodes)
        for number, _, _, parent, level, _, _ in nodes:
            messages, size = ((5 * hosts, 9000), (5 * fanout, 9000), (5, 700))[level]
            for third in (1, 2):
                file.execute("INSERT INTO link_sample(node, at_ns, queue_bytes, sent_bytes, sent_packets, round_trip_ns)"
                             " VALUES (?, ?, 0, ?, ?, ?)",
                             (number, third * end // 3, third * messages * size, third * messages, 90_000 * level or 4_200_000))
            file.execute("INSERT INTO link(node, at_ns, queue_bytes, most_queue_bytes, sent_bytes, sent_packets, round_trip_ns,"
                         " offset_ns, error_ns, refused, transport) VALUES (?, ?, 0, 4096, ?, ?, ?, 0, 20000, 0, ?)",
                         (number, 2 * end // 3, 2 * messages * size, 2 * messages, 90_000 * level or 4_200_000,
                          None if parent is None else "tcp"))

"""Reads the record of a run of MPI jobs: the file that `xylem run` writes, during the run or afterwards.

    import xylem

    with xylem.open("run.db") as run:
        print(run.info["command"])
        for row in run.query("SELECT function, sum(time_ns) AS time FROM function_total GROUP BY 1 ORDER BY 2 DESC"):
            print(row["function"], row["time"])
        for event in run.events(rank=3, function="MPI_Recv"):
            print(event["begin_ns"], event["peer"], event["bytes"])
        totals = run.table("function_total").frame()     # a pandas.DataFrame
        recorded = run.events(rank=3).arrays()           # {column: numpy array}

docs/storage-schema.md describes the tables and their columns. The package needs only the standard library, and for the tables
of DECODED libxylem-sqlite.so, which is installed with xylem. arrays() needs numpy; frame() needs pandas.

The file is opened for reading only. Only the thread that has opened a run may use it.
"""

import collections
import contextlib
import os
import pathlib
import shutil
import sqlite3
import sys
import time
import urllib.parse

__all__ = ["Error", "Row", "Rows", "Run", "open"]

APPLICATION_ID = 0x78796C6D  # "xylm", in the header of each run's file.
SCHEMA = 24  # The newest schema that this package knows.
# The tables that libxylem-sqlite.so computes from the events in the file.
DECODED = ("event", "completion", "callsite_total", "region", "message", "collective", "unmatched", "wait_state", "wait_coverage")
ROWS_AT_ONCE = 65536
CREATION_PATIENCE_S = 1.0  # A run's file is made within milliseconds.


class Error(Exception):
    """A file that cannot be read, a query that SQLite refuses, or a part of xylem that is missing."""


class MissingExtension(Error):
    """Why libxylem-sqlite.so is not loaded. Run keeps it for the queries that need it."""


# What the module sqlite3 raises: SQLite's errors, several statements at once, an integer of more than 64 bits.
SQL_ERRORS = (sqlite3.Error, sqlite3.Warning, OverflowError)


class Row(sqlite3.Row):
    """A row of an answer: row["rank"], row[0], or dict(row)."""

    def __repr__(self):
        return f"Row({', '.join(f'{name}={self[name]!r}' for name in self.keys())})"


class Rows:
    """The rows of an answer, in order. They are read from the file while you iterate, and only once."""

    def __init__(self, path, cursor):
        self._path = path
        self._cursor = cursor
        self.columns = [column for column, *_ in cursor.description or ()]  # The names of the columns, in order.
        twice = [name for name, number in collections.Counter(self.columns).items() if number > 1]
        if twice:
            raise Error(f"{path}: two columns of the answer have the name {twice[0]!r}; give one another name with AS")

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return next(self._cursor)
        except SQL_ERRORS as error:
            raise Error(f"{self._path}: {error}") from error

    def value(self):
        """The only value of an answer with one row and one column. Raises ValueError for any other answer."""
        rows = [next(self, None), next(self, None)]
        if rows[0] is None or rows[1] is not None or len(self.columns) != 1:
            raise ValueError("the answer is not a single value: it does not have exactly one row and one column")
        return rows[0][0]

    def arrays(self):
        """{column: one-dimensional numpy array} of the rows that are left. Integers are int64, reals float64, all else is object. A
        column with integers and reals is float64. A column with NULL is a numpy.ma.MaskedArray, in which NULL is masked. The result
        takes about 8 bytes for each value, making it twice as much."""
        numpy = _optional("numpy", "arrays()")
        parts = [_Column(numpy) for _ in self.columns]
        while True:
            with _sql_errors(self._path):
                rows = self._cursor.fetchmany(ROWS_AT_ONCE)
            if not rows:
                return {name: part.array() for name, part in zip(self.columns, parts)}
            for part, values in zip(parts, zip(*rows)):
                part.add(values)

    def frame(self):
        """A pandas.DataFrame of the rows that are left. Columns of integers with NULL have the type Int64, so they stay exact."""
        pandas = _optional("pandas", "frame()")
        return pandas.DataFrame({name: _series(pandas, array) for name, array in self.arrays().items()}, columns=self.columns)


class Run:
    """A run's file, opened for reading. Use it in a `with` statement, or call close(). If libxylem-sqlite.so cannot be loaded, all
    tables but those of DECODED can be read."""

    def __init__(self, path):
        """Raises Error if there is no such file, if it is not a run's, or if a newer xylem has written it."""
        self._no_extension = ""  # Why the tables of DECODED cannot be read.
        self.path = pathlib.Path(path)
        self._database = _connect(self.path)
        try:
            self._check()
            _load_extension(self._database)
        except MissingExtension as error:
            self._no_extension = f" ({error})"
        except BaseException:
            self.close()
            raise
        self._database.row_factory = Row
        # A program may give its processes and communicators names that are not UTF-8.
        self._database.text_factory = lambda text: sys.intern(text.decode(errors="surrogateescape"))

    def _pragma(self, name):
        with _sql_errors(self.path):
            return self._database.execute(f"PRAGMA {name}").fetchone()[0]

    def _check(self):
        deadline = time.monotonic() + CREATION_PATIENCE_S
        while self._is_being_made():
            if time.monotonic() > deadline:
                raise Error(f"{self.path}: this is not the file of a xylem run, or it is not complete yet")
            time.sleep(0.01)
        if self._pragma("application_id") != APPLICATION_ID:
            raise Error(f"{self.path}: this is not the file of a xylem run")
        version = self._pragma("user_version")
        if not 0 < version <= SCHEMA:
            raise Error(f"{self.path}: a newer xylem has written this file: it has schema {version}, and this package knows {SCHEMA}")

    def _is_being_made(self):
        """Whether it has no tables yet, or not the row of the run."""
        version = self._pragma("user_version")
        if version == 0:
            rows = "SELECT count(*) FROM sqlite_master"
        elif version <= SCHEMA and self._pragma("application_id") == APPLICATION_ID:
            rows = "SELECT count(*) FROM run"
        else:
            return False
        with _sql_errors(self.path):
            return self._database.execute(rows).fetchone()[0] == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the file. Rows that are not read yet are lost."""
        self._database.close()

    @property
    def info(self):
        """The row of the table `run` as a dict. `ended_ns` is None while the run is in progress."""
        return dict(next(self.table("run")))

    def tables(self):
        """The names of all tables and views, sorted."""
        stored = self.query("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")
        return sorted([row["name"] for row in stored] + ([] if self._no_extension else list(DECODED)))

    def table(self, name):
        """All rows of a table or view."""
        if name not in self.tables():
            why = self._no_extension if name in DECODED else ""
            raise Error(f"{self.path}: there is no table {name!r}{why}; tables() has the names")
        quoted = name.replace('"', '""')
        return self.query(f'SELECT * FROM "{quoted}"')

    def query(self, sql, parameters=()):
        """The rows of one SQL statement. `parameters` are a sequence for `?`, or a dict for `:name`. Raises Error, here or while
        the rows are read, if SQLite refuses it, if two columns have the same name, or if the file is damaged."""
        try:
            with _sql_errors(self.path):
                cursor = self._database.execute(sql, parameters)
        except Error as error:
            if str(error).endswith(tuple(f"no such table: {name}" for name in DECODED)):
                raise Error(f"{error}{self._no_extension}") from error
            raise
        return Rows(self.path, cursor)

    def events(self, *, world=None, rank=None, thread=None, function=None, begin_ns=None, end_ns=None):
        """The recorded calls, by the begin of the call, with the columns of the table `event`. Without arguments: of all ranks and the
        whole run. Only those that took place, at least in part, after `begin_ns` and before `end_ns`. The run needs a trace
        (`xylem run --detail trace`); for any other run, and for ranks that do not exist, there are no rows.

        They are sorted before the first one is returned: about 1 us for each. SQLite keeps what does not fit into memory in a
        temporary file."""
        equal = {"world": world, "rank": rank, "thread": thread, "function": function}
        conditions = {f"{name} = :{name}": value for name, value in equal.items()}
        conditions |= {"end_ns > :begin_ns": begin_ns, "begin_ns < :end_ns": end_ns}
        given = [condition for condition, value in conditions.items() if value is not None] or ["1"]
        return self.query(f"SELECT * FROM event WHERE {' AND '.join(given)} ORDER BY begin_ns, world, rank, thread",
                          {**equal, "begin_ns": begin_ns, "end_ns": end_ns})

    @contextlib.contextmanager
    def snapshot(self):
        """with run.snapshot(): all queries inside see the run at the same moment. Only useful while the run is in progress."""
        self.query("BEGIN")
        try:
            self.query("SELECT 1 FROM sqlite_master LIMIT 1").value()  # The first read decides which moment it is.
            yield self
        finally:
            self.query("ROLLBACK")


def open(path):  # As gzip.open, tarfile.open and others. pylint: disable=redefined-builtin
    """A Run. Raises Error, see there."""
    return Run(path)


class _Column:
    """Collects the values of a column in arrays."""

    def __init__(self, numpy):
        self._numpy = numpy
        self._parts = []
        self._masks = []

    def add(self, values):
        mask = [value is None for value in values]
        types = {type(value) for value in values} - {type(None)}
        dtype = "int64" if types <= {int} else "float64" if types <= {int, float} else object
        if any(mask):
            filler = None if dtype is object else 0
            values = [filler if value is None else value for value in values]
        # Arrays of objects are made empty, so that blobs of the same length stay objects.
        part = self._numpy.empty(len(values), dtype)
        part[:] = values
        self._parts.append(part)
        self._masks.append(self._numpy.array(mask, bool))

    def array(self):
        numpy = self._numpy
        if not self._parts:
            return numpy.empty(0, "int64")
        values, mask = numpy.concatenate(self._parts), numpy.concatenate(self._masks)
        return numpy.ma.MaskedArray(values, mask) if mask.any() else values


def _series(pandas, array):
    mask = getattr(array, "mask", None)
    if mask is None:
        return array
    if array.dtype == "int64":
        return pandas.arrays.IntegerArray(array.data, mask)
    if array.dtype != object:
        return array.filled(float("nan"))
    values = array.data.copy()
    values[mask] = None
    return values


def _optional(name, user):
    try:
        return __import__(name)
    except ImportError as error:
        raise Error(f"{user} needs the package {name} (Debian: python3-{name})") from error


def _connect(path):
    uri = f"file:{urllib.parse.quote(str(path.absolute()))}?mode=ro"
    try:
        if not path.is_file():
            raise Error(f"{path}: there is no such file")
        try:
            return _try_connect(uri)
        except sqlite3.OperationalError as error:
            # A read-only folder has no place for the index of the log. If there is a log, it must not be ignored.
            is_read_only = "unable to open database file" in str(error) or "readonly" in str(error)
            log = pathlib.Path(f"{path}-wal")
            if not is_read_only or log.exists() and log.stat().st_size > 0:
                raise
            return _try_connect(f"{uri}&immutable=1")
    except (OSError, *SQL_ERRORS) as error:
        raise Error(f"{path}: {error}") from error


def _try_connect(uri):
    database = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except BaseException:
        database.close()
        raise
    return database


def _load_extension(database):
    """The tables of events, messages and waits."""
    if not hasattr(database, "enable_load_extension"):
        raise MissingExtension("the sqlite3 of this Python cannot load extensions; that of Debian's /usr/bin/python3 can")
    extension = _extension()
    database.enable_load_extension(True)
    try:
        database.load_extension(str(extension))
    except sqlite3.OperationalError as error:
        raise MissingExtension(f"{extension}: it cannot be loaded: {error}") from error
    finally:
        database.enable_load_extension(False)


def _extension():
    """The library beside this package as installed, or of the xylem that is found in PATH."""
    name = "libxylem-sqlite.so"
    places = [pathlib.Path(__file__).resolve().parents[2] / name]  # PREFIX/lib/xylem/python/xylem/__init__.py
    program = shutil.which("xylem")
    if program:
        places.append(pathlib.Path(os.path.realpath(program)).parents[1] / "lib/xylem" / name)
    for place in places:
        if place.is_file():
            return place
    raise MissingExtension(f"{name} is missing; put the xylem that it belongs to into PATH; looked for " + " and ".join(map(str, places)))


@contextlib.contextmanager
def _sql_errors(path):
    try:
        yield
    except SQL_ERRORS as error:
        raise Error(f"{path}: {error}") from error

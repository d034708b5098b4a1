// The answers of docs/http-api.md, as types. Times are ns; whole numbers beyond 2^53 are rounded, except
// in Query, where they are text.

export interface Scope {
  begin_ns: number;
  end_ns: number;
  run_begin_ns: number;
  run_end_ns: number;
  has_ended: boolean;
  estimated: boolean;
  lost_calls: number;
  incomplete_ranks: number;
}

interface OfRun {
  version: number;
  view: string;
  scope: Scope;
}

export interface RankShare { rank: number; mpi_ns: number; span_ns: number; share: number; estimated: boolean }

export interface WorldShare {
  world: number;
  ranks: number;
  least: RankShare;
  most: RankShare;
  mean_mpi_share: number;
  estimated: boolean;
  mpi_imbalance: number | null;
  other_imbalance: number | null;
  shown: RankShare[];
}

export interface Account {
  ranks: number;
  complete_ranks: number;
  captured: number;
  stored: number;
  lost: number;
  lost_of_unknown_ranks: number;
  inexact_ranks: number;
}

export interface Overview extends OfRun {
  run: {
    run_id: string;
    command: string;
    directory: string;
    user: string;
    host: string;
    version: string;
    detail: string;
    started_ns: number | null;
    elapsed_ns: number | null;
    exit_code: number | null;
    hosts: number;
    mpi_libraries: string[];
  };
  efficiencies: Efficiency[];
  findings: Finding[];
  window_ns: number | null;
  calls_per_s: number | null;
  worlds: { world: number; program: string; size: number; registered: number; clock: string }[];
  worlds_in_all: number;
  account: Account;
  events: { recorded: number; stored: number; lost: number; ranks: number; complete_ranks: number };
  /** The rank to which capture has added the largest share of its time. Null: the cost is not known. */
  capture_cost: { world: number; rank: number; time_ns: number; share: number } | null;
  services: {
    service: string; back_ends: number; complete: number; captured: number; stored: number; lost: number;
    /** Set only for a service without samples. */
    why?: string;
  }[];
  mpi_ns: number;
  mpi_estimated: boolean;
  functions_in_all: number;
  functions: FunctionLine[];
  regions_in_all: number;
  /** Named by the program, of all ranks; `longest_ns` is the time of the rank that spent most in it. */
  regions: Region[];
  shares: WorldShare[];
  under_way: CallUnderWay[];
  under_way_in_all: number;
  /** An estimate, and the share of the time in MPI that it is about. */
  waits: { world: number; rank: number; peer: number; time_ns: number; calls: number }[];
  waits_share: number;
  /** By wait states. Empty without a trace, while the run is in progress, and before the trace is analysed. */
  wait_coverage: { world: number; share: number; waiting_ns: number; blocking: CallSum; analysed: CallSum }[];
  wait_causes: { world: number; rank: number; time_ns: number; ranks: number; longest: number[] }[];
  wait_states: WaitState[];
  wait_states_in_all: number;
  wait_fault: string | null;
  losses: {
    part: string; host: string; reason: string; count: number | null; calls: number | null;
    messages: number | null; bytes: number | null;
  }[];
}

/** A region that the program has named. Its times are sums over all ranks. */
export interface Region {
  region: string;
  ranks: number;
  visits: number;
  time_ns: number;
  longest_ns: number;
  mpi_ns: number;
  estimated: boolean;
}

export interface CallSum {
  calls: number;
  time_ns: number;
}

/** Sums of calls of one function, of all ranks. */
export interface CallSums {
  function: string;
  calls: number;
  time_ns: number;
  max_ns: number;
  bytes: number;
  /** Of the time in MPI. */
  share: number;
  estimated: boolean;
}

/** Those from one place. */
export interface CallSite extends CallSums {
  /** FILE:LINE, or OBJECT+0xOFFSET without debugging information; null: not known. */
  place: string | null;
  /** The function of the program. */
  caller: string | null;
}

export interface CallSites extends OfRun {
  mpi_ns: number;
  call_sites_in_all: number;
  call_sites_fault: string | null;
  call_sites: CallSite[];
}

export interface WaitState {
  world: number;
  rank: number;
  /** null in both: many ranks. */
  cause_rank: number | null;
  root_rank: number | null;
  kind: string;
  function: string;
  time_ns: number;
  calls: number;
}

export interface Efficiency {
  world: number;
  ranks: number;
  runtime_ns: number;
  mean_useful_ns: number;
  max_useful_ns: number;
  slowest_rank: number;
  load_balance: number;
  communication_efficiency: number;
  parallel_efficiency: number;
  estimated: boolean;
}

export interface Finding {
  kind: string;
  severity: "good" | "note" | "warning";
  text: string;
  world: number | null;
  rank: number | null;
  peer: number | null;
  root_rank: number | null;
  wait_kind: string | null;
  covered: number | null;
  host: string | null;
  function: string | null;
  value: number;
  estimated: boolean;
}

export interface FunctionLine extends CallSums {
  class: string;
}

export interface Grid {
  value: "mpi" | "wait" | "bytes" | "calls";
  unit: "ns" | "bytes" | "calls";
  world_size: number;
  slot_ns: number;
  columns: number;
  rows: {
    first_rank: number; ranks: number; host: string; total: number; cells: number[];
    /** In grids of times: the time in which the row's ranks were watched, over their threads. */
    watched_ns?: number;
    /** The same for each slot: the next n slots have as many ns each. */
    watched?: [n: number, ns: number][];
    /** In densities: the index in `classes` of the class with the most time; the next n slots have the same. */
    dominant?: [n: number, index: number][];
  }[];
  /** In densities: names of classes of functions. */
  classes?: string[];
}

export interface Ranks extends OfRun, Grid {}

export interface FunctionRow {
  function: string;
  class: string;
  calls: number;
  time_ns: number;
  max_ns: number;
  bytes: number;
  ranks: number;
  estimated: boolean;
  series_ns: number[];
  distribution: { below_ns: number; calls: number }[];
}

export interface Functions extends OfRun {
  mpi_ns: number;
  slot_ns: number;
  functions_in_all: number;
  functions: FunctionRow[];
}

export interface Matrix extends OfRun {
  value: "messages" | "waits";
  unit: "bytes" | "ns";
  world_size: number;
  first_row: number;
  end_row: number;
  first_column: number;
  end_column: number;
  block: number;
  lost_messages: number;
  lost_bytes: number;
  /** Row, column, count, amount. */
  cells: [number, number, number, number][];
}

export interface Call {
  rank: number;
  thread: number;
  begin_ns: number;
  end_ns: number;
  function: string;
  class: string;
  peer: number | null;
  tag: number | null;
  comm: number | null;
  bytes: number;
  calls: number;
  /** The time is an estimate for `calls` calls. */
  estimated: boolean;
  /** The number of the message in its channel, or of the collective on its communicator. Missing: unknown. */
  number?: number;
  /** The call has not returned: it ends at the newest time that is known of its rank. */
  is_open?: true;
  /** For an open call: the process has ended in it. */
  has_ended?: true;
  /** For an open call: its host was lost, and nobody knows whether the call lasts. */
  host_lost?: true;
}

/** A call that has not returned. */
export interface CallUnderWay {
  world: number;
  rank: number;
  thread: number;
  function: string;
  class: string;
  begin_ns: number;
  /** The newest time at which the call is known not to have returned. */
  at_ns: number;
  duration_ns: number;
  peer: number | null;
  comm: number | null;
  /** The process has ended in this call. */
  has_ended: boolean;
  /** The rank's host was lost in the middle of this call. */
  host_lost: boolean;
}

export interface UnderWay extends OfRun {
  calls_in_all: number;
  /** The longest first. */
  calls: CallUnderWay[];
}

/** At least one of the two times is known. */
export interface Message {
  source: number;
  destination: number;
  sent_ns: number | null;
  received_ns: number | null;
  bytes: number;
  tag: number | null;
  comm: number | null;
}

export interface LongCall { rank: number; function: string; duration_ns: number; begin_ns: number; end_ns: number }

export interface Timeline extends OfRun {
  detail: "calls" | "densities" | "windows";
  /** Why there are no single calls, or only calls that have not returned. Otherwise empty. */
  reason: string;
  /** A shorter time or fewer ranks would give single calls. */
  too_many: boolean;
  /** null if calls are not counted. */
  calls_in_all: number | null;
  calls: Call[];
  messages_in_all: number;
  /** Sends and receives without a known partner. */
  unpaired: number;
  /** Messages that are left out: they were received before they were sent by more than the clocks may be apart. */
  backwards: number;
  messages: Message[];
  longest: LongCall[];
  windows: Grid;
  /** Only with detail "densities". */
  densities?: Grid;
}

export interface Search extends OfRun {
  searched_begin_ns: number;
  searched_end_ns: number;
  /** Only a part of the range was searched. */
  is_cut: boolean;
  calls: Call[];
}

export interface Hosts extends OfRun {
  series: string[];
  /** Names of the series of ranks. */
  rank_series?: string[];
  hosts: {
    leaf: number; host: string; lost_reason: string; ranks: number; clock_error_ns: number | null;
    newest: Record<string, number>;
  }[];
}

export interface Series extends OfRun {
  name: string;
  slot_ns: number;
  /** There are too many samples: each line has only the first sample in each interval of this length. */
  look_ns?: number;
  /** Set if the lines are of hosts; otherwise `ranks_in_all` is set. */
  hosts_in_all?: number;
  ranks_in_all?: number;
  lines: {
    leaf: number; host: string; rank?: number;
    points: { slot: number; min: number; mean: number; max: number; samples: number }[];
  }[];
}

export interface TreeNode {
  id: number;
  role: string;
  host: string;
  state: string;
  parent: number | null;
  level: number;
  ranks: number;
  silent_ns: number | null;
  /** Why a communication process was placed on its host. */
  reason: string | null;
  /** The newest measurements of a back end's host. */
  facts?: Record<string, number>;
  link?: {
    at_ns: number; queue_bytes: number; refused: number; transport: string; round_trip_ns: number | null;
    packets_per_s: number | null; bytes_per_s: number | null;
  };
}

export interface Tree extends OfRun {
  at_ns: number;
  nodes: TreeNode[];
}

export interface Notices extends OfRun {
  notices_in_all: number;
  notices: { at_ns: number; host: string; role: string; level: string; text: string; dropped: number }[];
}

export interface Alert {
  at_ns: number;
  /** Null: the alert is open. */
  until_ns: number | null;
  kind: string;
  world: number | null;
  rank: number | null;
  text: string;
  value: number;
  threshold: number;
  /** Null: the file has a schema before 16. */
  subject: "world" | "rank" | "events" | "host" | "lost_host" | null;
  leaf: number | null;
  /** At least `value` calls were lost; the exact number is unknown. */
  at_least: boolean;
}

export interface Alerts extends OfRun {
  alerts_in_all: number;
  open: number;
  alerts: Alert[];
}

export type Cell = null | number | string;

export interface Query {
  version: number;
  view: "query";
  columns: string[];
  rows: Cell[][];
  is_cut: boolean;
}

/** The types of the answers, by the last part of the path. */
export interface Answers {
  overview: Overview;
  ranks: Ranks;
  functions: Functions;
  matrix: Matrix;
  timeline: Timeline;
  search: Search;
  under_way: UnderWay;
  call_sites: CallSites;
  hosts: Hosts;
  series: Series;
  tree: Tree;
  notices: Notices;
  alerts: Alerts;
  query: Query;
}

/** A message of the WebSocket. */
export interface Commit {
  number: number;
  run_end_ns: number;
  has_ended: boolean;
}

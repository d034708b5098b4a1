#include <utility>

#include "storage/alert/alert_intake_internal.h"

namespace xylem::storage {
namespace {

/// Maximum number of leaves of a merged window that are noted one by one.
constexpr std::uint64_t kMaxLeaves = 1u << 16;
/// Number of bits for functions. Functions that share a bit count as one.
constexpr std::uint64_t kBits = 61;
/// Maximum number of changes that are kept while the disk is full.
constexpr std::size_t kMaxUnwritten = 4096;

}  // namespace

AlertIntake::AlertIntake(Connection& c)
    : member_(c, "SELECT world, rank FROM process WHERE id = ?"),
      function_(c, "SELECT name, class FROM function WHERE id = ?"),
      alias_(c, "SELECT function FROM function_alias WHERE leaf = ? AND id = ?"),
      host_(c, "SELECT name FROM host WHERE leaf = ?"),
      host_ranks_(
          c,
          "SELECT world, rank, max(0, captured - stored_calls - given_up_calls - ring_lost), ended"
          " FROM process WHERE leaf = ? AND world IS NOT NULL AND rank IS NOT NULL"
          " ORDER BY world, rank"),
      write_(c,
             "INSERT OR REPLACE INTO alert(id, at_ns, until_ns, kind, subject, world, rank, leaf,"
             " text, value, threshold, at_least) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)"),
      connection_(c) {}

void AlertIntake::begin(const AlertLimits& limits) {
  rules_.emplace(limits);
  std::int64_t last_id = 0;
  std::vector<Alert> open;
  Statement last(connection_, "SELECT coalesce(max(id), 0) FROM alert");
  if (last.first()) last_id = last.integer(0);
  last.reset();
  Statement rows(connection_,
                 "SELECT id, at_ns, kind, subject, world, rank, leaf, text, value, threshold,"
                 " at_least FROM alert WHERE until_ns IS NULL ORDER BY id LIMIT 1000");
  for (bool more = rows.first(); more; more = rows.next()) {
    const auto kind = parse_alert_kind(rows.text(2));
    const auto subject = parse_alert_subject(rows.text(3));
    if (!kind || !subject) continue;
    Alert& alert = open.emplace_back();
    alert.id = rows.integer(0);
    alert.at_ns = rows.integer(1);
    alert.kind = *kind;
    alert.subject = subject;
    alert.world = WorldId{static_cast<std::uint32_t>(rows.integer(4))};
    if (!rows.is_null(5)) alert.rank = Rank{static_cast<std::uint32_t>(rows.integer(5))};
    if (!rows.is_null(6)) alert.leaf = LeafId{static_cast<std::uint32_t>(rows.integer(6))};
    alert.text = rows.text(7);
    alert.value = rows.real(8);
    alert.threshold = rows.real(9);
    alert.at_least = rows.integer(10) != 0;
  }
  rules_->adopt(open, last_id);
  last_written_ = last_id;
  Statement ranks(connection_,
                  "SELECT world, rank, leaf, coalesce(called_ns, last_ns, 0), captured, ring_lost"
                  " FROM process"
                  " WHERE world IS NOT NULL AND rank IS NOT NULL AND ended = 0");
  for (bool more = ranks.first(); more; more = ranks.next()) {
    rules_->adopt_rank(WorldId{static_cast<std::uint32_t>(ranks.integer(0))},
                       Rank{static_cast<std::uint32_t>(ranks.integer(1))},
                       LeafId{static_cast<std::uint32_t>(ranks.integer(2))}, ranks.integer(3),
                       ranks.count(4), ranks.count(5));
  }
  Statement cores(connection_,
                  "SELECT leaf, value, max(at_ns) FROM host_value WHERE name = 'cores' AND value IS"
                  " NOT NULL GROUP BY leaf");
  for (bool more = cores.first(); more; more = cores.next()) {
    const LeafId leaf{static_cast<std::uint32_t>(cores.integer(0))};
    rules_->note_cores(leaf, cores.real(1));
    name_host(leaf);
  }
  Statement hosts(connection_, "SELECT leaf FROM host WHERE lost_reason IS NOT NULL");
  for (bool more = hosts.first(); more; more = hosts.next()) {
    tell_host(LeafId{static_cast<std::uint32_t>(hosts.integer(0))}, false);
  }
}

void AlertIntake::note_row(ProcessKey process, Nanos begin_ns, Nanos end_ns,
                           const wire::ProfileRow& row, FunctionKey function) {
  if (!rules_) return;
  const bool same =
      !notes_.empty() && notes_.back().process == process && notes_.back().begin_ns == begin_ns;
  Note& note = same ? notes_.back() : notes_.emplace_back();
  note.process = process;
  note.leaf = row.leaf;
  note.begin_ns = begin_ns;
  note.end_ns = end_ns;
  note.calls += row.calls;
  note.mpi_ns += row.time_ns;
  if (is_collective(function)) {
    note.collective_ns += row.time_ns;
    note.collective_calls += row.calls;
    note.collectives |= std::uint64_t{1} << (static_cast<std::uint64_t>(raw(function)) % kBits);
  }
  if (row.max_ns > note.max_ns) {
    note.max_ns = row.max_ns;
    note.max_function = function;
  }
}

void AlertIntake::note_account(ProcessKey process, const wire::AccountRow& row) {
  if (!rules_ || (row.lost == 0 && !row.ended && row.silent_since_ns == 0)) return;
  accounts_.push_back({process, row.leaf, row.captured, row.lost, row.ended, row.stopped,
                       row.outside, row.silent_since_ns, row.inside});
}

void AlertIntake::note_given_up(std::optional<LeafId> leaf, std::optional<std::uint64_t> calls,
                                const std::string& why) {
  if (rules_) given_up_.push_back({leaf, std::nullopt, calls, why});
}

void AlertIntake::note_events_given_up(ProcessKey process, std::uint64_t calls,
                                       const std::string& why) {
  if (rules_) given_up_.push_back({std::nullopt, process, calls, why});
}

void AlertIntake::note_window(const IntervalSet& sources, Nanos end_ns) {
  if (!rules_ || sources.count() > kMaxLeaves) return;
  for (const auto& [first, end] : sources.intervals()) {
    for (std::uint64_t leaf = first; leaf < end; ++leaf) {
      leaves_[LeafId{static_cast<std::uint32_t>(leaf)}] = end_ns;
    }
  }
}

void AlertIntake::forget_notes() {
  notes_.clear();
  accounts_.clear();
  leaves_.clear();
  given_up_.clear();
  hosts_.clear();
  cores_.clear();
}

void AlertIntake::discard() {
  forget_notes();
  // These caches may have values from the rows that were rolled back.
  members_.clear();
  collective_.clear();
}

std::optional<AlertIntake::Member> AlertIntake::member(ProcessKey process) {
  const auto known = members_.find(process);
  if (known != members_.end()) return known->second;
  std::optional<Member> found;
  if (!member_.first(process)) return found;
  if (!member_.is_null(0) && !member_.is_null(1)) {
    found = {WorldId{static_cast<std::uint32_t>(member_.integer(0))},
             Rank{static_cast<std::uint32_t>(member_.integer(1))}};
    members_[process] = *found;
  }
  member_.reset();
  return found;
}

bool AlertIntake::is_collective(FunctionKey function) {
  const auto known = collective_.find(function);
  if (known != collective_.end()) return known->second;
  if (!function_.first(function)) return false;
  const bool is_so = function_.text(1) == "collective";
  function_.reset();
  collective_[function] = is_so;
  return is_so;
}

std::string AlertIntake::function_name(FunctionKey function) {
  if (!function_.first(function)) return {};
  std::string name = function_.text(0);
  function_.reset();
  return name;
}

void AlertIntake::tell_window(const Note& note) {
  const auto of = member(note.process);
  if (!of) return;
  WindowNote window{of->first,
                    of->second,
                    note.leaf,
                    note.begin_ns,
                    note.end_ns,
                    note.calls,
                    note.mpi_ns,
                    note.collective_ns,
                    note.max_ns,
                    {},
                    note.collective_calls,
                    note.collectives};
  const auto& limit = rules_->limits().stalled_ns;
  if (limit && note.max_ns >= static_cast<std::uint64_t>(*limit)) {
    window.max_function = function_name(note.max_function);
  }
  rules_->note(window);
}

void AlertIntake::tell_account(const AccountNote& account) {
  const auto of = member(account.process);
  if (!of) return;
  rules_->note_lost(of->first, of->second, account.lost);
  if (account.ended) rules_->note_ended(of->first, of->second);
  if (account.ended || account.silent_since_ns == 0) return;
  SilenceNote silence{of->first,        of->second, account.leaf,    account.silent_since_ns,
                      account.captured, {},         account.stopped, account.outside};
  if (account.inside) {
    FunctionKey function = key_of(*account.inside);
    if (alias_.first(account.leaf, *account.inside)) {
      function = FunctionKey{alias_.integer(0)};
      alias_.reset();
    }
    silence.inside = function_name(function);
    if (silence.inside.empty()) silence.inside = "an MPI call";
  }
  rules_->note_silence(silence);
}

void AlertIntake::tell_given_up(const GivenUp& given_up) {
  if (given_up.leaf) name_host(*given_up.leaf);
  if (!given_up.process) return rules_->note_given_up(given_up.leaf, given_up.calls, given_up.why);
  if (const auto of = member(*given_up.process)) {
    rules_->note_events_given_up(of->first, of->second, given_up.calls.value_or(0), given_up.why);
  }
}

void AlertIntake::tell_host(LeafId leaf, bool is_found) {
  name_host(leaf);
  LostHostNote host;
  host.leaf = leaf;
  bool has_ended = false;
  for (bool more = host_ranks_.first(leaf); more; more = host_ranks_.next()) {
    has_ended |= host_ranks_.integer(3) != 0;
    if (host_ranks_.integer(3) != 0) continue;
    host.ranks.emplace_back(WorldId{static_cast<std::uint32_t>(host_ranks_.integer(0))},
                            Rank{static_cast<std::uint32_t>(host_ranks_.integer(1))});
    host.missing_calls += host_ranks_.count(2);
  }
  if (is_found) {
    rules_->note_host_found(leaf);
  } else if (!host.ranks.empty() || !has_ended) {  // Otherwise all its calls are stored.
    rules_->note_host_lost(host);
  }
}

void AlertIntake::name_host(LeafId leaf) {
  if (named_.contains(leaf) || !host_.first(leaf)) return;
  const std::string name = host_.text(0);
  host_.reset();
  if (name.empty()) return;
  rules_->name_host(leaf, name);
  named_.insert(leaf);
}

void AlertIntake::tell_rules() {
  for (const auto& [leaf, end_ns] : leaves_) name_host(leaf);
  for (const Note& note : notes_) tell_window(note);
  for (const auto& [leaf, end_ns] : leaves_) rules_->note_leaf(leaf, end_ns);
  for (const AccountNote& account : accounts_) tell_account(account);
  for (const GivenUp& given_up : given_up_) tell_given_up(given_up);
  for (const auto& [leaf, is_found] : hosts_) tell_host(leaf, is_found);
  for (const auto& [leaf, cores] : cores_) rules_->note_cores(leaf, cores);
  forget_notes();
}

bool AlertIntake::keep(std::vector<Alert> changed) {
  for (Alert& alert : changed) {
    if (unwritten_.size() < kMaxUnwritten) unwritten_[alert.id] = std::move(alert);
  }
  return !unwritten_.empty();
}

bool AlertIntake::judge() {
  if (!rules_) return false;
  tell_rules();
  return keep(rules_->judge());
}

bool AlertIntake::finish() {
  if (!rules_) return false;
  tell_rules();
  return keep(rules_->finish());
}

void AlertIntake::write() {
  for (const auto& [id, alert] : unwritten_) {
    const AlertSubject subject = alert.subject.value_or(AlertSubject::kWorld);
    write_.run(id, alert.at_ns, alert.until_ns, alert_kind_name(alert.kind),
               alert_subject_name(subject), alert.world, alert.rank, alert.leaf, alert.text,
               alert.value, alert.threshold, alert.at_least);
  }
}

std::vector<Alert> AlertIntake::forget_written() {
  std::vector<Alert> fresh;
  for (auto& [id, alert] : std::exchange(unwritten_, {})) {
    if (id <= last_written_) continue;
    last_written_ = id;
    fresh.push_back(std::move(alert));
  }
  return fresh;
}

}  // namespace xylem::storage

#include "storage/read/under_way.h"

#include <utility>

#include "storage/read/under_way_internal.h"

namespace xylem::storage {

// A call that has returned since is followed by rows of a later window, as in the view under_way.
// If the process has ended in its call, the call is listed in the process's last window. That
// window may end after the process did.
UnderWayRows read_under_way(Inquiry& inquiry, const std::string& condition, std::uint64_t limit) {
  UnderWayRows found;
  if (!inquiry.has_table("call_under_way")) return found;
  const std::string from =
      " FROM call_under_way u JOIN process p ON p.id = u.process LEFT JOIN host h ON h.leaf = "
      "p.leaf"
      " LEFT JOIN function f ON f.id = u.function WHERE p.world IS NOT NULL"
      " AND u.at_ns >= coalesce(p.last_ns, u.at_ns)" +
      condition;
  found.in_all = count_of(inquiry.ask_one("SELECT count(*)" + from, 1)[0]);
  for (const auto& row : inquiry.ask(
           "SELECT p.world, p.rank, u.thread, coalesce(f.name, 'function ' || u.function), f.class,"
           " u.begin_ns, CASE WHEN p.ended THEN min(u.at_ns, coalesce(p.until_ns, u.at_ns))"
           " ELSE u.at_ns END AS seen_ns, u.peer, u.comm, p.ended, h.lost_reason IS NOT NULL" +
           from + " ORDER BY seen_ns - u.begin_ns DESC, p.world, p.rank, u.thread LIMIT " +
           std::to_string(limit))) {
    CallUnderWay call;
    call.world = id_of<WorldId>(row[0]);
    call.rank = id_of<Rank>(row[1]);
    call.thread = ThreadIndex{static_cast<std::uint32_t>(count_of(row[2]))};
    call.function = text_of(row[3]);
    call.function_class = text_of(row[4]);
    call.begin_ns = time_of(row[5]);
    call.at_ns = time_of(row[6]);
    if (!is_null(row[7])) call.peer = id_of<Rank>(row[7]);
    if (!is_null(row[8])) call.comm = CommId{static_cast<std::uint32_t>(count_of(row[8]))};
    call.has_ended = integer_of(row[9]) != 0;
    call.is_host_lost = !call.has_ended && integer_of(row[10]) != 0;
    found.calls.push_back(std::move(call));
  }
  return found;
}

}  // namespace xylem::storage

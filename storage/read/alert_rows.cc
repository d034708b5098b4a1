#include <string>
#include <utility>

#include "storage/read/alert_rows_internal.h"

namespace xylem::storage {

AlertRows read_alerts(Inquiry& inquiry, AlertOrder order, std::uint64_t limit) {
  AlertRows found;
  if (!inquiry.has_table("alert")) return found;
  const auto counts = inquiry.ask_one("SELECT count(*), total(until_ns IS NULL) FROM alert", 2);
  found.in_all = count_of(counts[0]);
  found.open = count_of(counts[1]);
  const bool has_subject = inquiry.has_column("alert", "subject");
  const std::string direction = order == AlertOrder::kNewestFirst ? " DESC" : "";
  for (const auto& row :
       inquiry.ask("SELECT id, at_ns, until_ns, kind, world, rank, text, value, threshold, " +
                   std::string(has_subject ? "subject, leaf, at_least" : "NULL, NULL, 0") +
                   " FROM alert ORDER BY until_ns IS NOT NULL, at_ns" + direction + ", id" +
                   direction + " LIMIT " + std::to_string(limit))) {
    const auto kind = parse_alert_kind(text_of(row[3]));
    if (!kind) continue;
    Alert alert;
    alert.id = integer_of(row[0]);
    alert.at_ns = time_of(row[1]);
    if (!is_null(row[2])) alert.until_ns = time_of(row[2]);
    alert.kind = *kind;
    alert.world = id_of<WorldId>(row[4]);
    if (!is_null(row[5])) alert.rank = id_of<Rank>(row[5]);
    alert.text = text_of(row[6]);
    alert.value = real_of(row[7]);
    alert.threshold = real_of(row[8]);
    alert.subject = parse_alert_subject(text_of(row[9]));
    if (!is_null(row[10])) alert.leaf = id_of<LeafId>(row[10]);
    alert.at_least = integer_of(row[11]) != 0;
    found.alerts.push_back(std::move(alert));
  }
  return found;
}

}  // namespace xylem::storage

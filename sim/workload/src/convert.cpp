#include "workload/convert.hpp"

#include "instant_service.hpp"
#include "trace_rows.hpp"
#include "workload/trace_reader.hpp"
#include "workload/workload.hpp"
#include "workload/workload_error.hpp"

#include <algorithm>
#include <numeric>

namespace dooly::workload {
namespace {

std::uint64_t export_with(RequestSource& source, const TraceColumns& columns, TraceWriter::Encoding encoding,
                          std::ostream& out) {
  TraceWriter writer(out, encoding, columns);
  InstantService guard;
  Request request;
  while (source.next_arrival_s() < kNever) {
    source.take(request);
    guard.check(request);
    writer.add(request, source.classes()[request.request_class]);
    if (request.ticket != kNoTicket) {
      source.finished(request.ticket, request.arrival_s, Outcome::kCompleted);
    } else if (request.session != kNoSession) {
      writer.ended(request.session);
    }
  }
  writer.finish();
  return writer.rows();
}

std::uint64_t convert_sorted(const ConvertOptions& options, std::ostream& out) {
  ClassTable classes;
  PartContext context;
  context.name = context.default_class = "default";
  context.classes = &classes;
  TraceRows::Options rows_options;
  rows_options.path = options.input;
  rows_options.format = options.format;
  rows_options.any_order = true;
  TraceRows rows(rows_options, context);
  std::vector<TraceRows::Position> order;
  for (; rows.head(); rows.advance()) order.push_back(*rows.head());
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return rows.arrival_s(a) < rows.arrival_s(b); });
  // Dates before the first row's are negative: count from the earliest.
  const double origin_s = order.empty() ? 0 : std::min(0.0, rows.arrival_s(order.front()));
  TraceWriter writer(out, options.encoding, rows.columns());
  Request request;
  for (const TraceRows::Position first : order) {
    request.arrival_s = rows.arrival_s(first) - origin_s;
    for (std::optional<TraceRows::Position> at = first; at; at = rows.next_turn(*at)) {
      rows.fill(request, *at);
      request.id = rows.id(*at);
      writer.add(request, classes.names()[request.request_class]);
    }
    if (request.session != kNoSession && request.after_s >= 0) writer.ended(request.session);
  }
  writer.finish();
  return writer.rows();
}

}  // namespace

std::uint64_t convert_trace(const ConvertOptions& options, std::ostream& out) {
  if (options.sort) return convert_sorted(options, out);
  const TraceColumns columns = open_trace(options.input, options.format)->columns();
  if (!columns.arrival)
    throw WorkloadError(options.input.string() +
                        ": has no arrival times: put it into a scenario with `arrivals` and export that");
  const auto source = open_trace_workload(options.input, options.format);
  return export_with(*source, columns, options.encoding, out);
}

std::uint64_t export_workload(RequestSource& source, TraceWriter::Encoding encoding, std::ostream& out) {
  return export_with(source, source.columns(), encoding, out);
}

}  // namespace dooly::workload

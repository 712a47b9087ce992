#include "portable_line.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle_store/portable_file.hpp"
#include "sample_figures.hpp"

namespace dooly::store {
namespace {

using oracle::append_json;

/// Writes the members of one object in the order they are asked for, which must be the canonical one.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  std::string& name(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return out_;
  }
  void text(std::string_view member, std::string_view value) { append_json(name(member), value); }
  void number(std::string_view member, double value) {
    if (value != 0) append_json(name(member), value);
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

void append_sample(std::string& out, const SampleRecord& record) {
  const oracle::Sample& sample = record.sample;
  ObjectWriter object(out);
  const auto figure = [&](std::size_t i) { object.number(kFigures[i].name, sample.*kFigures[i].member); };
  if (sample.count != 0) append_json(object.name("count"), std::uint64_t{sample.count});
  object.text("environment", record.environment_id);
  if (!sample.kernel_family.empty()) object.text("kernel_family", sample.kernel_family);
  if (!sample.kernels.empty()) {
    std::string& list = object.name("kernels");
    for (std::size_t i = 0; i < sample.kernels.size(); ++i) {
      list += i == 0 ? '[' : ',';
      append_json(list, std::string_view(sample.kernels[i]));
    }
    list += ']';
  }
  for (std::size_t i = 0; i < 3; ++i) figure(i);
  if (!sample.note.empty()) object.text("note", sample.note);
  figure(3), figure(4);
  std::string& list = object.name("point");
  std::size_t used = sample.point.size();
  while (used > 0 && sample.point[used - 1] == 0) --used;
  list += '[';
  for (std::size_t i = 0; i < used; ++i) {
    if (i > 0) list += ',';
    append_json(list, sample.point[i]);
  }
  list += ']';
  figure(5), figure(6);
  object.text("record", "sample");
  object.text("regime", regime_name(sample.regime));
  object.text("signature", record.signature.hex());
  figure(7);
  if (sample.status != oracle::SampleStatus::kOk) object.text("status", status_name(sample.status));
  figure(8), figure(9);
  object.end();
}

struct AppendLine {
  std::string& out;
  void operator()(const EnvironmentRecord& record) const {
    ObjectWriter object(out);
    object.name("environment") += oracle::canonical_json(record.environment);
    object.text("id", record.id);
    object.text("record", "environment");
    object.end();
  }
  void operator()(const KeyRecord& record) const {
    ObjectWriter object(out);
    object.name("key") += oracle::canonical_json(record.key);
    object.text("record", "operator");
    object.text("signature", record.signature.hex());
    object.end();
  }
  void operator()(const SampleRecord& record) const { append_sample(out, record); }
  void operator()(const PlanRecord& record) const { document(record, "plan"); }
  void operator()(const CommRecord& record) const { document(record, "collectives"); }
  void document(const Document& record, std::string_view kind) const {
    ObjectWriter object(out);
    object.name("json") += record.json;
    object.text("name", record.name);
    object.text("record", kind);
    object.end();
  }
};

}  // namespace

void append_portable_line(std::string& out, const Record& record) { std::visit(AppendLine{out}, record); }

std::string portable_line(const Record& record) {
  std::string out;
  append_portable_line(out, record);
  return out;
}

void parse_portable_line(std::string_view line, Record& record) {
  if (line.find("\"record\":\"sample\"") != std::string_view::npos) {
    auto* sample = std::get_if<SampleRecord>(&record);
    if (sample == nullptr) sample = &record.emplace<SampleRecord>();
    if (parse_canonical_sample(line, *sample)) return;
  }
  record = parse_any_spelling(line);
}

Record parse_portable_line(std::string_view line) {
  Record record;
  parse_portable_line(line, record);
  return record;
}

}  // namespace dooly::store

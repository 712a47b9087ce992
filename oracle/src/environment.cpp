#include "oracle/environment.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle/sha256.hpp"
#include "strict_json.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace dooly::oracle {

std::string canonical_json(const Environment& environment) {
  std::string out;
  const auto text = [&](std::string_view before, const std::string& value) {
    out += before;
    append_json(out, std::string_view(value));
  };
  text("{\"cuda\":", environment.cuda);
  text(",\"driver\":", environment.driver);
  text(",\"gpu\":", environment.gpu);
  std::vector<std::pair<std::string, std::string>> libraries(environment.libraries.begin(),
                                                             environment.libraries.end());
  std::sort(libraries.begin(), libraries.end(),
            [](const auto& left, const auto& right) { return json_name_less(left.first, right.first); });
  out += ",\"libraries\":{";
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    text(i > 0 ? "," : "", libraries[i].first);
    text(":", libraries[i].second);
  }
  out += "},\"memory_bytes\":";
  append_json(out, environment.memory_bytes);
  out += ",\"multiprocessors\":";
  append_json(out, std::uint64_t{environment.multiprocessors});
  text(",\"source\":", environment.source);
  text(",\"topology\":", environment.topology);
  out += '}';
  return out;
}

std::string environment_id(const Environment& environment) { return sha256_hex(canonical_json(environment)); }

Environment parse_environment(std::string_view json) {
  const nlohmann::json parsed = parse_strictly(json, "environment");
  const StrictObject fields(
      parsed, "environment",
      {"cuda", "driver", "gpu", "libraries", "memory_bytes", "multiprocessors", "source", "topology"});
  Environment environment;
  environment.gpu = fields.text("gpu");
  environment.multiprocessors =
      static_cast<std::uint32_t>(fields.whole_or("multiprocessors", 0, std::numeric_limits<std::uint32_t>::max()));
  environment.memory_bytes = fields.whole_or("memory_bytes", 0, std::numeric_limits<std::uint64_t>::max());
  environment.driver = fields.text_or("driver", "");
  environment.cuda = fields.text_or("cuda", "");
  environment.topology = fields.text_or("topology", "");
  environment.source = fields.text_or("source", "");
  if (const nlohmann::json* libraries = fields.optional("libraries")) {
    if (!libraries->is_object()) fields.fail("libraries", "must be an object, got " + libraries->dump());
    for (const auto& [name, version] : libraries->items()) {
      if (!version.is_string()) fields.fail("libraries." + name, "must be text, got " + version.dump());
      environment.libraries.emplace(name, version.get<std::string>());
    }
  }
  return environment;
}

}  // namespace dooly::oracle

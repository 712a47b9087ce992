#include "scenarios/write.hpp"
#include "schema.hpp"

#include <fmt/format.h>

#include <string>

namespace dooly::scenario {
namespace {

constexpr std::string_view kIntroduction =
    R"(# Scenario reference

<!-- Generated from the schema table in scenarios/src/schema.cpp; a test of the scenarios says when it is out of date and
     how to write it anew. Do not edit. -->

A scenario is one YAML file. The short form is enough for one model on one kind of GPU:

```yaml
dooly: 1
model: meta-llama/Llama-3.1-8B
gpu: H200-SXM
tp: 1
replicas: 2
workload:
  synthetic:
    requests: 2000
    arrivals: {process: poisson, rate: 20/s}
    prompt_tokens: {lognormal: {mean: 1155, p99: 4000, max: 8192}}
    output_tokens: 211
```

`dooly explain SCENARIO.yaml` prints the full form, every default filled in. `dooly init` writes a commented file to
start from, `dooly check` says all that is wrong with one, `dooly schema scenario` prints a JSON Schema for editors.

**Strict.** Every key is used or refused. Duplicate keys, anchors, aliases, merge keys (`<<`), tags, several documents
in a file and a bare `yes`, `no`, `on`, `off`, `true`, `false` where a name is wanted are errors. What is not built yet
is refused by name.

**Quantities** carry a unit, with or without a space: times `us ms s m h d`, rates `/s /min /h`, bandwidths `Gbps Mbps`
(bits) and `GB/s MB/s KB/s B/s TB/s GiB/s` (bytes). A bare number where a unit is needed is an error. Whole numbers are
decimal, without leading zeros, signs or exponents.

**Paths** are relative to the directory of the scenario. One that starts with `$DOOLY_DATA/` starts at the directory that
the environment variable `DOOLY_DATA` names; where it is not set, at the nearest directory `shared` that holds a
directory `data` and lies beside the scenario's directory or beside one above it.

**`like`** in a pool copies another pool and merges what stands beside it over the copy: maps key by key, everything else
replaced. The name is not copied.

**`--set KEY=VALUE`** changes one key before anything is checked: `--set pools.decode.replicas=8`. The value is YAML
(`--set 'workload.synthetic.prompt_tokens={uniform: [16, 512]}'`). Members of lists go by name, or by number from 0. Short
form keys work on files in short form (`--set replicas=4`); so do the keys it expands to (`--set
pools.main.engine.max_num_seqs=64`). `KEY=null` takes the key out, so that it has its default. Paths are relative to the
working directory. A key that two `--set` change is an error, so their order does not matter.

**Several pools.** Requests of a class enter at the one pool of role `mixed` or `prefill` that serves it; a `prefill` pool
hands them to the one `decode` pool that serves the class and has the same model, dtype, KV dtype and block size.
Replicas are placed pool by pool and fill a pool's nodes in order: one that fits a node sits inside it, a larger one takes
whole empty nodes.

Below, *unset* values are `null` or `default` in the file.
)";

std::string ticked(std::string_view text) { return fmt::format("`{}`", text); }

std::string ticked_list(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    text += text.empty() ? "" : " ";
    text += ticked(word);
  }
  return text;
}

/// GitHub's anchor of a heading.
std::string anchor(std::string_view title) {
  std::string made;
  for (const char c : title) {
    if (c == ' ') {
      made += '-';
    } else if (c >= 'A' && c <= 'Z') {
      made += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-') {
      made += c;
    }
  }
  return made;
}

std::string link(std::string_view object) {
  const std::string_view title = schema_object(object).title;
  return fmt::format("[{}](#{})", title, anchor(title));
}

std::string value_text(const Key& key) {
  std::string text;
  if (key.type == Type::kEnum) {
    text = ticked_list(key.allowed);
  } else if (key.type == Type::kObject) {
    text = link(key.object);
  } else if (key.type == Type::kList && key.item == Type::kObject) {
    text = std::string(key.is_single_ok ? "one or a list of " : "list of ") + link(key.object);
  } else if (key.type == Type::kList && key.is_built) {
    Key item = key;
    item.type = key.item;
    text = std::string(key.is_single_ok ? "one or a list: " : "list: ") + requirement(item);
  } else {
    text = requirement(key);
  }
  if (key.built_max > 0) text = ticked(std::to_string(static_cast<int>(key.built_max))) + "; more is not built yet";
  if (!key.not_built.empty()) text += "; not built yet: " + ticked_list(key.not_built);
  if (!key.is_built) text = key.type == Type::kList ? "`[]`; not built yet" : "not built yet";
  if (!key.named.empty()) text += fmt::format(", see `dooly list {}`", key.named);
  return text;
}

std::string default_text(const Key& key) {
  if (!key.fallback_note.empty()) return std::string(key.fallback_note);
  if (!key.fallback.empty()) return ticked(key.fallback);
  if (!key.unset_word.empty()) return ticked(key.unset_word);
  return key.is_required ? "**required**" : "";
}

std::string meaning_text(const Key& key) {
  std::string text(key.help);
  if (!key.when_key.empty()) text += fmt::format(" Only with `{}` {}.", key.when_key, ticked_list(key.when));
  return text;
}

}  // namespace

std::string reference_markdown() {
  std::string text(kIntroduction);
  for (const Object& object : schema()) {
    text += fmt::format("\n## {}\n\n", object.title);
    if (!object.help.empty()) text += fmt::format("{}\n\n", object.help);
    text += "| key | value | default | meaning |\n|---|---|---|---|\n";
    for (const Key& key : object.keys)
      text += fmt::format("| {} | {} | {} | {} |\n", ticked(key.name), value_text(key), default_text(key),
                          meaning_text(key));
  }
  return text;
}

}  // namespace dooly::scenario

#include "tree.hpp"

#include <algorithm>
#include <string_view>

namespace dooly::scenario {
namespace {

constexpr std::size_t kWidth = 116;

/// Plain where every reader of YAML takes it for the same text.
bool needs_quotes(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool is_name =
      !text.empty() && (is_letter(text[0]) || text[0] == '/') && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
      });
  if (!is_name) return true;
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  constexpr std::string_view kWords[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  return std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords);
}

std::string in_quotes(std::string_view text) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? std::string("''") : std::string(1, c);
  return made + "'";
}

std::string word(const Node& node) { return node.quoted && needs_quotes(node.text) ? in_quotes(node.text) : node.text; }
std::string key_word(const std::string& key) { return needs_quotes(key) ? in_quotes(key) : key; }

/// The node on one line.
std::string flow(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::kNull: return "null";
    case Node::Kind::kScalar: return word(node);
    case Node::Kind::kList:
      for (const Node& item : node.items) {
        text += text.empty() ? "" : ", ";
        text += flow(item);
      }
      return "[" + text + "]";
    case Node::Kind::kMap:
      for (const Node::Member& member : node.members)
        text.append(text.empty() ? "" : ", ").append(key_word(member.key) + ": " + flow(member.value));
      return "{" + text + "}";
  }
  return text;
}

bool is_nested(const Node& node) {
  const auto has_children = [](const Node& child) { return !child.items.empty() || !child.members.empty(); };
  return std::any_of(node.items.begin(), node.items.end(), has_children) ||
         std::any_of(node.members.begin(), node.members.end(),
                     [&](const Node::Member& member) { return has_children(member.value); });
}

class Printer {
 public:
  explicit Printer(const std::function<std::vector<std::string>(std::size_t)>& comment) : comment_(comment) {}

  /// Members of a map, each on its own lines; the first follows `lead` (a list's dash) where there is one.
  void members(const Node& map, std::size_t indent, std::string lead = {}) {
    for (const Node::Member& member : map.members) {
      const std::string head = (lead.empty() ? std::string(indent, ' ') : lead) + key_word(member.key) + ":";
      lead.clear();
      const std::string line = head + " " + flow(member.value);
      const bool is_scalar = member.value.is_scalar() || member.value.kind == Node::Kind::kNull;
      const bool is_list_of_maps = member.value.is_list() && is_nested(member.value);
      if (is_scalar || (line.size() <= kWidth && !is_list_of_maps && (indent > 0 || !is_nested(member.value)))) {
        text_ += line + "\n";
      } else if (member.value.is_map()) {
        text_ += head + "\n";
        members(member.value, indent + 2);
      } else {
        text_ += head + "\n";
        list(member.value, indent + 2, indent == 0 && member.key == "pools");
      }
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void list(const Node& node, std::size_t indent, bool are_pools) {
    const std::string dash = std::string(indent, ' ') + "- ";
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (are_pools && comment_)
        for (const std::string& line : comment_(i)) text_ += std::string(indent, ' ') + "# " + line + "\n";
      const Node& item = node.items[i];
      const std::string line = dash + flow(item);
      if (!item.is_map() || item.members.empty() || (line.size() <= kWidth && !are_pools)) {
        text_ += line + "\n";
      } else {
        members(item, indent + 2, dash);
      }
    }
  }

  const std::function<std::vector<std::string>(std::size_t)>& comment_;
  std::string text_;
};

void flatten(const Node& node, const std::string& path, std::vector<std::string>& lines) {
  if (node.items.empty() && node.members.empty()) lines.push_back(path + " = " + flow(node));
  for (std::size_t i = 0; i < node.items.size(); ++i)
    flatten(node.items[i], path + "[" + std::to_string(i) + "]", lines);
  for (const Node::Member& member : node.members)
    flatten(member.value, path + (path.empty() ? "" : ".") + key_word(member.key), lines);
}

}  // namespace

std::string print_yaml(const Node& root, const std::function<std::vector<std::string>(std::size_t pool)>& comment) {
  Printer printer(comment);
  printer.members(root, 0);
  return printer.take();
}

std::string print_sorted(const Node& root) {
  std::vector<std::string> lines;
  flatten(root, "", lines);
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace dooly::scenario

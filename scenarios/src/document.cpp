#include "scenarios/document.hpp"

#include "scenarios/utf8.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace dooly::scenario {
namespace {

constexpr std::size_t kMaxBytes = 4u << 20;
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxValues = 200'000;

/// Builds the tree from yaml-cpp's events, which carry marks and show what its own tree hides (duplicates, `<<`).
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::size_t source, std::vector<Problem>& problems)
      : text_(text),
        source_(source),
        problems_(problems) {}

  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    Node node;
    node.mark = at(mark);
    place(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Problem{at(mark), path(), "aliases (*name) are not supported; write the value out"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty()) refuse_tag(mark, tag);
    Node node = Node::scalar(at(mark), value);
    node.quoted = tag == "!";
    if (node.quoted && !is_closed(mark)) throw Problem{at(mark), path(), "not valid YAML: quote without an end"};
    place(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::list(at(mark)));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::map(at(mark)));
  }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map that is being read; `key` waits for its value if `has_key`.
  struct Open {
    Node node;
    std::string key;
    Mark key_mark;
    bool has_key = false;
    bool is_duplicate = false;
  };

  Mark at(const YAML::Mark& mark) const { return {source_, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1}; }
  std::string path() const {
    std::string joined;
    for (const Open& open : open_) {
      std::string step = open.node.is_list() ? std::to_string(open.node.items.size()) : open.key;
      if (step.empty()) continue;
      joined.append(joined.empty() ? "" : ".").append(step);
    }
    return joined;
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) throw Problem{at(mark), path(), "anchors (&name) are not supported; write the value out"};
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    throw Problem{at(mark), path(), "tags are not supported, got " + tag};
  }
  /// yaml-cpp takes the end of the file for the end of a quoted scalar.
  bool is_closed(const YAML::Mark& mark) const {
    std::size_t i = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (i >= text_.size() || (text_[i] != '\'' && text_[i] != '"')) return true;  // a block scalar
    const char quote = text_[i];
    for (++i; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        const bool is_escaped = quote == '\'' && i + 1 < text_.size() && text_[i + 1] == quote;
        if (!is_escaped) return true;
        ++i;
      }
    }
    return false;
  }
  bool wants_key() const { return !open_.empty() && open_.back().node.is_map() && !open_.back().has_key; }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node node) {
    refuse_anchor(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty()) refuse_tag(mark, tag);
    if (wants_key()) throw Problem{at(mark), path(), "a key must be a plain word (or a bracket is not closed)"};
    if (open_.size() >= kMaxDepth)
      throw Problem{at(mark), "", "nested deeper than " + std::to_string(kMaxDepth) + " levels"};
    open_.push_back(Open{std::move(node), {}, {}, false, false});
  }
  void close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    place(std::move(node));
  }
  void place(Node node) {
    if (++values_ > kMaxValues) throw Problem{node.mark, "", "more than " + std::to_string(kMaxValues) + " values"};
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().node.is_list()) {
      open_.back().node.items.push_back(std::move(node));
    } else if (!open_.back().has_key) {
      take_key(node);
    } else {
      Open& map = open_.back();
      map.has_key = false;
      if (!map.is_duplicate) map.node.members.push_back({std::move(map.key), map.key_mark, std::move(node)});
      map.key.clear();
    }
  }
  void take_key(Node& node) {
    if (!node.is_scalar()) throw Problem{node.mark, path(), "a key must be a plain word (or a bracket is not closed)"};
    if (node.text == "<<" && !node.quoted)
      throw Problem{node.mark, path(), "merge keys (<<) are not supported; pools have `like`"};
    Open& map = open_.back();
    map.has_key = true;
    map.key = std::move(node.text);
    map.key_mark = node.mark;
    const Node* first = map.node.find(map.key);
    map.is_duplicate = first != nullptr;
    if (first)
      problems_.push_back({node.mark, path(), "key given twice, first on line " + std::to_string(first->mark.line)});
  }

  std::string_view text_;
  std::size_t source_;
  std::vector<Problem>& problems_;
  std::vector<Open> open_;
  Node root_;
  std::size_t values_ = 0;
};

void check_bytes(std::string_view text, std::size_t source) {
  if (text.size() > kMaxBytes) throw Problem{{source, 1, 1}, "", "larger than 4 MiB, which no scenario is"};
  Mark mark{source, 1, 1};
  const std::size_t broken = first_invalid_utf8(text);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (at == broken) throw Problem{mark, "", "byte " + std::to_string(c) + " is not UTF-8"};
    if (c == '\n') {
      ++mark.line;
      mark.column = 1;
      continue;
    }
    if ((c < 0x20 && c != '\t' && c != '\r') || c == 0x7f)
      throw Problem{mark, "", "control character " + std::to_string(c) + " (is this a text file in UTF-8?)"};
    ++mark.column;
  }
}

}  // namespace

Node Node::scalar(Mark mark, std::string text) {
  Node node;
  node.kind = Kind::kScalar;
  node.mark = mark;
  node.text = std::move(text);
  return node;
}

Node Node::map(Mark mark) {
  Node node;
  node.kind = Kind::kMap;
  node.mark = mark;
  return node;
}

Node Node::list(Mark mark) {
  Node node;
  node.kind = Kind::kList;
  node.mark = mark;
  return node;
}

const Node* Node::find(std::string_view key) const {
  for (const Member& member : members)
    if (member.key == key) return &member.value;
  return nullptr;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

Node& Node::add(std::string key, Node value) {
  const Mark at = value.mark;
  members.push_back({std::move(key), at, std::move(value)});
  return members.back().value;
}

void Node::remove(std::string_view key) {
  std::erase_if(members, [&](const Member& member) { return member.key == key; });
}

Node parse_yaml(std::string_view text, std::size_t source, std::vector<Problem>& problems) {
  check_bytes(text, source);
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(text, source, problems);
  TreeBuilder rest(text, source, problems);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) throw Problem{{source, 1, 1}, "", "is empty"};
    if (parser.HandleNextDocument(rest))
      throw Problem{
          {source, 1, 1}, "", "holds several YAML documents, or text after the end of one; a scenario is one document"};
  } catch (const YAML::Exception& error) {
    throw Problem{{source, std::max(error.mark.line, 0) + 1, std::max(error.mark.column, 0) + 1},
                  "",
                  "not valid YAML: " + error.msg};
  }
  return builder.take();
}

std::string shown(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kList: return node.items.empty() ? "an empty list" : "a list";
    case Node::Kind::kMap: return node.members.empty() ? "an empty map" : "a map";
    case Node::Kind::kScalar: break;
  }
  std::string text = node.text.size() > 60 ? node.text.substr(0, 57) + "..." : node.text;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return node.quoted || text.empty() ? "'" + text + "'" : text;
}

std::string listed(const std::vector<std::string_view>& words) {
  constexpr std::size_t kMost = 40;
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < kMost; ++i) {
    text += i ? ", " : "";
    text += std::string(words[i]);
  }
  if (words.size() > kMost) text += " and " + std::to_string(words.size() - kMost) + " more";
  return text;
}

}  // namespace dooly::scenario

#include "command_line.hpp"

#include "cli_error.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace dooly::cli {
namespace {

/// One command as CLI11 sees it.
struct Node {
  const Command* command = nullptr;  ///< null: the program itself
  std::string path;
  CLI::App* app = nullptr;
  Node* parent = nullptr;
  bool help = false, version = false;
};

class Parser {
 public:
  explicit Parser(std::span<const OptionSpec> globals) : globals_(globals) {}

  ParsedLine parse(std::span<const Command* const> commands, int argc, const char* const* argv) {
    Node& root = nodes_.emplace_back();
    root.path = "dooly";
    root.app = &app_;
    describe(root);
    for (const Command* command : commands) add(*command, root);
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      throw UsageError(reached().path + ": " + in_our_words(error.what()) + hint(reached()));
    }
    return result(commands);
  }

 private:
  void add(const Command& command, Node& parent) {
    Node& node = nodes_.emplace_back();
    node.command = &command;
    node.path = parent.path + " " + command.name;
    node.app = parent.app->add_subcommand(command.name);
    node.parent = &parent;
    describe(node);
    if (!command.is_built) node.app->prefix_command();
    for (const OptionSpec& option : command.options) add_option(*node.app, option);
    for (const ArgumentSpec& argument : command.arguments)
      std::visit([&](auto* target) { node.app->add_option(argument.name, *target); }, argument.target);
    for (const Command& sub : command.subcommands) add(sub, node);
  }

  void describe(Node& node) {
    node.app->set_help_flag();
    node.app->add_flag("-h,--help", node.help);
    node.app->add_flag("-V,--version", node.version);
    node.app->allow_extras();            // looked at below, for better words
    node.app->require_subcommand(0, 1);  // a file may be called as a verb is
    for (const OptionSpec& option : globals_) add_option(*node.app, option);
  }

  static void add_option(CLI::App& app, const OptionSpec& option) {
    if (bool* const* flag = std::get_if<bool*>(&option.target)) {
      app.add_flag(option.name, **flag);
    } else if (auto* const* one = std::get_if<std::optional<std::string>*>(&option.target)) {
      app.add_option(option.name, **one)->type_name(option.value);
    } else {
      auto& many = *std::get<std::vector<std::string>*>(option.target);
      app.add_option(option.name, many)->type_name(option.value)->allow_extra_args(false);
    }
  }

  /// The command that was read last, the innermost first.
  const Node& reached() const {
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node)
      if (node->parent == nullptr || (node->app->parsed() && is_reached(*node->parent))) return *node;
    return nodes_.front();
  }
  static bool is_reached(const Node& node) { return node.parent == nullptr || node.app->parsed(); }

  /// CLI11's messages about values, as ours are.
  static std::string in_our_words(std::string text) {
    const auto replace = [&](std::string_view from, std::string_view to) {
      if (const std::size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
    };
    if (text.ends_with(" missing")) replace(" missing", "");
    replace(": 1 required ", ": needs a value, ");
    replace(": At Most 1 required but received ", ": may be given once, got it ");
    if (text.find("may be given once") != std::string::npos) text += " times";
    return text;
  }

  static std::string hint(const Node& node) { return "; see '" + node.path + " --help'"; }

  ParsedLine result(std::span<const Command* const> commands) const {
    const Node& node = reached();
    const bool is_root = node.command == nullptr;
    for (const Node& any : nodes_)
      if (any.version) return {ParsedLine::What::kVersion, nullptr, "dooly"};
    for (const Node& any : nodes_) {
      if (any.help)
        return {is_root ? ParsedLine::What::kMainHelp : ParsedLine::What::kCommandHelp, node.command, node.path};
    }
    if (!is_root && !node.command->is_built) return {ParsedLine::What::kRun, node.command, node.path};
    refuse_extras(node, commands);
    if (is_root) return {ParsedLine::What::kMainHelp, nullptr, "dooly"};
    if (!node.command->subcommands.empty())
      throw UsageError(node.path + ": needs a command; allowed: " + listed(names(node.command->subcommands)) +
                       hint(node));
    check_values(node);
    return {ParsedLine::What::kRun, node.command, node.path};
  }

  void refuse_extras(const Node& node, std::span<const Command* const> commands) const {
    for (const std::string& word : node.app->remaining(true)) {
      if (word.starts_with("-")) {
        const std::string bare = word.substr(0, word.find('='));
        throw UsageError(node.path + ": " + refused_word("unknown option", bare, option_names(node)) + hint(node));
      }
      if (node.command == nullptr) {
        std::vector<std::string> verbs;
        for (const Command* command : commands) verbs.push_back(command->name);
        throw UsageError("dooly: " + refused_word("unknown verb", word, verbs) + hint(node));
      }
      if (!node.command->subcommands.empty())
        throw UsageError(node.path + ": " + refused_word("unknown command", word, names(node.command->subcommands)) +
                         hint(node));
      throw UsageError(node.path + ": unexpected argument, got '" + word + "'" + hint(node));
    }
  }

  void check_values(const Node& node) const {
    for (const ArgumentSpec& argument : node.command->arguments) {
      const std::string* one = nullptr;
      bool is_missing = false;
      if (auto* const* text = std::get_if<std::string*>(&argument.target)) {
        one = *text;
        is_missing = one->empty();
      } else {
        const auto& many = *std::get<std::vector<std::string>*>(argument.target);
        is_missing = many.empty() || has_empty(many);
      }
      const std::string allowed = argument.allowed.empty() ? "" : "; allowed: " + listed(argument.allowed);
      if (is_missing) throw UsageError(node.path + ": needs " + argument.name + allowed + hint(node));
      if (one != nullptr) check_allowed(node, argument.name, *one, argument.allowed);
    }
    for (const OptionSpec& option : node.command->options) check_option(node, option);
    for (const OptionSpec& option : globals_) check_option(node, option);
  }

  static bool has_empty(const std::vector<std::string>& values) {
    return std::find(values.begin(), values.end(), "") != values.end();
  }

  /// An empty value is none: of a variable that is not set, mostly, and as a path it would be the working directory.
  static void check_option(const Node& node, const OptionSpec& option) {
    auto* const* one = std::get_if<std::optional<std::string>*>(&option.target);
    auto* const* many = std::get_if<std::vector<std::string>*>(&option.target);
    if ((one && (*one)->has_value() && (**one)->empty()) || (many && has_empty(**many)))
      throw UsageError(node.path + ": " + option.name + ": needs a value, " + option.value + ", got ''" + hint(node));
    if (one && (*one)->has_value()) check_allowed(node, option.name, ***one, option.allowed);
  }
  static void check_allowed(const Node& node, const std::string& name, const std::string& value,
                            const std::vector<std::string>& allowed) {
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    throw UsageError(node.path + ": " + refused_word(name + ": unknown value", value, allowed));
  }

  std::vector<std::string> option_names(const Node& node) const {
    std::vector<std::string> found;
    if (node.command != nullptr)
      for (const OptionSpec& option : node.command->options) found.push_back(option.name);
    for (const OptionSpec& option : globals_) found.push_back(option.name);
    found.insert(found.end(), {"--help", "--version"});
    return found;
  }
  static std::vector<std::string> names(const std::vector<Command>& commands) {
    std::vector<std::string> found;
    for (const Command& command : commands) found.push_back(command.name);
    return found;
  }

  std::span<const OptionSpec> globals_;
  CLI::App app_;
  std::deque<Node> nodes_;  // a deque: their flags' addresses are bound
};

}  // namespace

ParsedLine parse_line(std::span<const Command* const> commands, std::span<const OptionSpec> globals, int argc,
                      const char* const* argv) {
  return Parser(globals).parse(commands, argc, argv);
}

}  // namespace dooly::cli

#pragma once

#include "quantity.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::scenario {

/// The scenario format, once: strict loading, the JSON Schema and the reference page all walk this table.

enum class Type {
  kText,        ///< free text
  kIdentifier,  ///< letters, digits, '_' and '-'
  kNodeRef,     ///< GROUP or GROUP.INDEX
  kPath,        ///< of a file that exists
  kEnum,        ///< one of `allowed`
  kBool,
  kInteger,
  kNumber,
  kQuantity,  ///< a number with a unit of `dimension`
  kObject,    ///< a map as `object` describes
  kList,      ///< of `item`
  kOptions,   ///< a map of names to plain values, checked elsewhere
  kTerms,     ///< a map of names to times, or a plain name
};

struct Key {
  std::string_view name;
  Type type = Type::kText;
  std::string_view help;

  std::string_view fallback;    ///< default, as YAML text; empty: none
  std::string_view fallback_note;  ///< default in words where it depends on something else
  std::string_view unset_word;  ///< "null" or "default": a value that leaves the key unset, which is also its default
  bool is_required = false;
  bool is_built = true;  ///< false: refused by name (an empty list is accepted)
  bool is_short_form = false;  ///< top level: expands to the full form

  double min = 0;  ///< kInteger, kNumber, kQuantity (in base units)
  double max = 0;
  bool excludes_min = false;
  double built_max = 0;  ///< kInteger, if not 0: larger values are for later versions
  Dimension dimension = Dimension::kNone;
  std::vector<std::string_view> allowed;  ///< kEnum
  std::vector<std::string_view> not_built;  ///< kEnum: values for later versions
  std::string_view object;  ///< kObject
  Type item = Type::kText;  ///< kList; its bounds and object are this key's
  std::size_t min_items = 0;
  std::size_t max_items = 100'000;
  bool is_single_ok = false;  ///< kList: one member may stand without brackets
  std::string_view named;  ///< what `dooly list …` shows the names
  std::string_view when_key;  ///< only where this sibling key has one of `when`
  std::vector<std::string_view> when;

  Key& def(std::string_view text) { return fallback = text, *this; }
  Key& def_note(std::string_view text) { return fallback_note = text, *this; }
  Key& unset(std::string_view word) { return unset_word = word, *this; }
  Key& required() { return is_required = true, *this; }
  Key& later() { return is_built = false, *this; }
  Key& short_form() { return is_short_form = true, *this; }
  Key& built_up_to(double value) { return built_max = value, *this; }
  Key& single_ok() { return is_single_ok = true, *this; }
  Key& items(std::size_t least, std::size_t most) { return min_items = least, max_items = most, *this; }
  Key& list_of(std::string_view what) { return named = what, *this; }
  Key& above_min() { return excludes_min = true, *this; }
  Key& only(std::string_view key, std::vector<std::string_view> values) {
    return when_key = key, when = std::move(values), *this;
  }
};

struct Object {
  std::string_view name;
  std::string_view title;  ///< where it stands, for the reference page
  std::string_view help;
  std::vector<Key> keys;
  std::string_view shorthand = {};  ///< a plain value stands for {shorthand: value}
  std::vector<std::string_view> one_of = {};  ///< exactly one of these keys must be given
  std::string_view extra = {};  ///< other keys are names whose values are this object
  bool takes_dashes = false;  ///< max-num-seqs is max_num_seqs

  const Key* find(std::string_view key) const;
};

/// All objects, the scenario itself first.
const std::vector<Object>& schema();
const Object& schema_object(std::string_view name);

/// "a whole number from 1 to 8": what a value of `key` must be, for messages and the reference page.
std::string requirement(const Key& key);

}  // namespace dooly::scenario

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dooly::validate {

/// A validation file that cannot be used: `FILE:LINE:COL: key: what, got VALUE; allowed: …`, one problem a line; or a
/// measurement whose content is not what its format says (`FILE:LINE: …`).
class ValidationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Data that a validation needs and this machine does not have. The message names the path.
class MissingData : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A simulation that began and did not come to its end: it stalled, a rule was broken, its process died.
class SimulationBrokeOff : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A scenario by its text. An inline one keeps its place in the validation file, so messages point there.
struct ScenarioText {
  std::filesystem::path file;
  std::string text;
};

/// Another tool's profile that the scenario's `store: NAME` stands for; imported when the validation runs.
struct ProfileImport {
  std::string name;
  std::string format = {};
  std::filesystem::path path = {};
  std::map<std::string, std::string> options = {};  ///< gpu, engine, model, …: as of `dooly store import`
};

/// What a measurement may have been used for before it is judged: told for the reader, checked for leaks.
struct FitSource {
  std::filesystem::path measurement;
  std::string written;  ///< as the file has it
  std::vector<std::string> terms;
  std::optional<std::uint64_t> first_requests;  ///< only so many of it
};

/// `|error| <= limit` of one error of one series, or at most `limit` differences of a tally.
struct Bound {
  std::string series;
  std::string error;  ///< an error_names(), or "differences"
  double limit = 0;  ///< a share (0.04 is 4 %), or a count
  std::size_t pairs = 0;  ///< judged only where at least so many pairs were compared
  std::string where;  ///< FILE:LINE:COL, for messages
};

/// Where a request's times are taken: at the client, or in the engine (from its taking the request up; no delivery).
enum class Clock : std::uint8_t { kClient, kEngine };

/// One validation file, checked.
struct Validation {
  std::filesystem::path file;
  std::string name;
  ScenarioText scenario;
  std::string format;  ///< of the measurement
  std::filesystem::path measurement;  ///< absolute
  std::string measurement_written;  ///< as the file has it
  std::vector<std::string> checks;  ///< of those that the format knows, in its order
  std::map<std::string, std::string> options;  ///< further keys of `measurement`, those that the format knows
  Clock clock = Clock::kClient;
  std::vector<FitSource> fit;
  std::vector<ProfileImport> profiles;
  std::vector<Bound> bounds;

  bool wants(const std::string& check) const;
};

/// Reads and checks a validation file; the data it names need not be there. Throws ValidationError.
Validation load_validation(const std::filesystem::path& path);
/// The same for text in memory.
Validation parse_validation(const std::string& text, const std::filesystem::path& path);

}  // namespace dooly::validate

#include "results/requests_csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <vector>

#include "results/csv_field.hpp"
#include "results/errors.hpp"
#include "scratch.hpp"

namespace dooly::results {
namespace {

const RowNames kNames{.request_class = [](std::uint16_t number) { return number == 0 ? std::string("chat") : "a,b"; },
                      .pool = [](std::uint16_t number) { return number == 0 ? std::string("main") : "decode"; },
                      .reason = [](std::uint16_t) { return std::string("too \"long\", sorry"); }};

FinishedRequest request(std::uint64_t row, double arrival_s) {
  FinishedRequest made;
  made.row = made.id = row;
  made.arrival_s = arrival_s;
  made.scheduled_s = made.first_token_engine_s = made.first_token_s = made.finish_s = arrival_s;
  made.prompt_tokens = made.output_tokens = 1;
  made.pool = 0;
  return made;
}

std::vector<std::uint64_t> ids(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::uint64_t> found;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) found.push_back(std::stoull(line));
  return found;
}

std::vector<std::uint64_t> counted(std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

TEST(CsvField, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

TEST(RequestsCsv, RowHasEveryColumn) {
  const Scratch scratch;
  RequestsCsv csv(scratch / "requests.csv", kNames);
  FinishedRequest whole;
  whole.row = 0, whole.id = 17, whole.session = 3, whole.request_class = 0;
  whole.arrival_s = 1, whole.scheduled_s = 1.25, whole.first_token_engine_s = 1.5, whole.first_token_s = 1.75;
  whole.finish_s = 2.75, whole.transfer_wait_s = 0, whole.transfer_s = 0.125;
  whole.prompt_tokens = 100, whole.cached_tokens = 32, whole.output_tokens = 5, whole.preemptions = 1;
  whole.pool = 0, whole.replica = 2, whole.decode_pool = 1, whole.decode_replica = 4;
  csv.put(whole);
  csv.finish(1);
  csv.sink().finish();
  EXPECT_EQ(text_of(scratch / "requests.csv"),
            std::string(RequestsCsv::kHeader) +
                "17,chat,3,1,100,32,5,main,2,decode,4,1.25,1.5,1.75,2.75,0,0.125,0.75,0.25,1.75,1,completed,\n");
}

TEST(RequestsCsv, UndefinedCellsAreEmptyAndNamesQuoted) {
  const Scratch scratch;
  RequestsCsv csv(scratch / "requests.csv", kNames);
  FinishedRequest rejected;
  rejected.arrival_s = 0.5, rejected.prompt_tokens = 9, rejected.request_class = 1, rejected.reason = 1;
  rejected.status = RequestStatus::kRejected;
  csv.put(rejected);
  csv.finish(1);
  csv.sink().finish();
  EXPECT_EQ(text_of(scratch / "requests.csv"), std::string(RequestsCsv::kHeader) +
                                                   "0,\"a,b\",,0.5,9,0,0,,,,,,,,,,,,,,0,rejected,"
                                                   "\"too \"\"long\"\", sorry\"\n");
}

TEST(RequestsCsv, OneTokenHasNoTpot) {
  const Scratch scratch;
  RequestsCsv csv(scratch / "requests.csv", kNames);
  csv.put(request(0, 2));
  csv.finish(1);
  csv.sink().finish();
  EXPECT_EQ(text_of(scratch / "requests.csv"),
            std::string(RequestsCsv::kHeader) + "0,chat,,2,1,0,1,main,0,,,2,2,2,2,,,0,,0,0,completed,\n");
}

struct Shuffle {
  const char* name;
  std::size_t window;
  std::size_t distance;  ///< about how far rows finish from their place
};

class AnyOrder : public testing::TestWithParam<Shuffle> {};

TEST_P(AnyOrder, RowsComeOutByArrival) {
  constexpr std::uint64_t kCount = 20'000;
  const Scratch scratch;
  std::mt19937_64 bits(1);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
  for (std::uint64_t row = 0; row < kCount; ++row) order.emplace_back(row + bits() % GetParam().distance, row);
  std::sort(order.begin(), order.end());
  RequestsCsv csv(scratch / "requests.csv", kNames, GetParam().window);
  for (const auto& place : order) csv.put(request(place.second, static_cast<double>(place.second)));
  csv.finish(kCount);
  csv.sink().finish();
  EXPECT_EQ(ids(scratch / "requests.csv"), counted(kCount));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);  // no temporary file is left
}

INSTANTIATE_TEST_SUITE_P(Windows, AnyOrder,
                         testing::Values(Shuffle{"in_order", 16, 1}, Shuffle{"within", 4096, 100},
                                         Shuffle{"beyond", 16, 1000}, Shuffle{"anywhere", 1024, 20'000}),
                         [](const auto& shuffle) { return shuffle.param.name; });

TEST(RequestsCsv, FirstRowLastNeedsTheFileButNotMemory) {
  const Scratch scratch;
  RequestsCsv csv(scratch / "requests.csv", kNames, 8);
  for (std::uint64_t row = 1; row < 5000; ++row) csv.put(request(row, 1));
  csv.put(request(0, 0));
  csv.finish(5000);
  csv.sink().finish();
  EXPECT_EQ(ids(scratch / "requests.csv"), counted(5000));
}

TEST(RequestsCsv, EqualArrivalsAreSortedById) {
  const Scratch scratch;
  RequestsCsv csv(scratch / "requests.csv", kNames);
  const std::vector<std::pair<double, std::uint64_t>> source = {{0, 9}, {0, 4}, {0, 6}, {1, 3}, {1, 5}, {2, 8}, {2, 7}};
  for (std::uint64_t row = 0; row < source.size(); ++row) {
    FinishedRequest made = request(row, source[row].first);
    made.id = source[row].second;
    csv.put(made);
  }
  csv.finish(source.size());
  csv.sink().finish();
  EXPECT_EQ(ids(scratch / "requests.csv"), (std::vector<std::uint64_t>{4, 6, 9, 3, 5, 7, 8}));
}

TEST(RequestsCsv, ARowThatComesTwiceIsABug) {
  const Scratch scratch;
  RequestsCsv csv(scratch / "requests.csv", kNames, 4);
  csv.put(request(1, 0));
  EXPECT_THROW(csv.put(request(1, 0)), std::logic_error);
  csv.put(request(9, 0));
  EXPECT_THROW(csv.put(request(9, 0)), std::logic_error);
  csv.put(request(0, 0));
  EXPECT_THROW(csv.put(request(0, 0)), std::logic_error);
}

TEST(RequestsCsv, AMissingRowIsNamed) {
  const Scratch scratch;
  RequestsCsv csv(scratch / "requests.csv", kNames);
  csv.put(request(0, 0));
  csv.put(request(2, 0));
  EXPECT_EQ(message_of<std::logic_error>([&] { csv.finish(3); }),
            "request of row 1 of 3 was never reported as finished");
}

TEST(RequestsCsv, AFullDiskIsReportedAtTheEnd) {
  RequestsCsv csv("/dev/full", kNames);
  for (std::uint64_t row = 0; row < 10'000; ++row) csv.put(request(row, 0));
  EXPECT_TRUE(csv.sink().failed());
  csv.finish(10'000);
  EXPECT_EQ(message_of<WriteFailed>([&] { csv.sink().finish(); }), "/dev/full: cannot write: No space left on device");
}

TEST(RequestsCsv, AFileThatCannotBeOpenedIsNamed) {
  const Scratch scratch;
  EXPECT_NE(message_of<WriteFailed>([&] {
              RequestsCsv(scratch / "absent/requests.csv", kNames);
            }).find("absent/requests.csv: cannot open for writing: No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace dooly::results

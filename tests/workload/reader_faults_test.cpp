#include "workload/trace_reader.hpp"

#include "support.hpp"
#include "workload/convert.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace dooly::workload {
namespace {

struct Fault {
  const char* name;
  std::string bytes;
  std::string error;        ///< behind the file's name
  std::string format = {};  ///< empty: detected
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.name; }

const std::string kAzure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
const std::string kVidur = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
const std::string kDooly = "arrival_s,prompt_tokens,output_tokens";

std::string mooncake(int tokens, const std::string& ids) {
  return "{\"timestamp\": 0, \"input_length\": " + std::to_string(tokens) +
         ", \"output_length\": 1, \"hash_ids\": " + ids + "}\n";
}

class EveryFault : public testing::TestWithParam<Fault> {};

/// The readers and the checks over rows together, as a scenario meets them.
TEST_P(EveryFault, IsAPreciseError) {
  const test::TempFile file("trace", GetParam().bytes);
  std::ostringstream out;
  const std::string got =
      test::error_of([&] { convert_trace({.input = file.path(), .format = GetParam().format}, out); });
  std::string want = file.path().string() + GetParam().error;
  if (const std::size_t at = want.find("FILE"); at != want.npos) want.replace(at, 4, file.path().string());
  EXPECT_EQ(got, want);
}

const std::string kSort = " is before the previous row's ";

std::vector<Fault> faults() {
  std::string row_7001 = kDooly + "\n";
  for (int i = 1; i <= 8000; ++i) row_7001 += std::to_string(i) + (i == 7001 ? ",5,\n" : ",5,5\n");
  return {
      {"Empty", "", ": is empty"},
      {"OnlyBlankLines", "\n\r\n  \n", ": is empty"},
      {"OnlyAHeader", kVidur, ": has no rows"},
      {"UnknownHeader", "a,b,c\n1,2,3\n",
       ": none of the known trace formats: azure mooncake burstgpt vidur llmservingsim "
       "sharegpt apex vllm-bench servegen dooly"},
      {"BinaryGarbage", std::string("\x00\x01\x02\xff\n", 5), ":1: not a text file: byte 0x00 at column 1"},
      {"BinaryInARow", kVidur + "0,1\x01,1\n", ":2: not a text file: byte 0x01 at column 4"},
      {"Utf16",
       "\xFF\xFE"
       "a",
       ": is UTF-16, want UTF-8"},
      {"MissingColumn", "arrived_at,num_prefill_tokens\n1,2\n",
       ":1: header: no column 'num_decode_tokens', which format vidur needs", "vidur"},
      {"ColumnTwice", "arrived_at,arrived_at,num_prefill_tokens,num_decode_tokens\n1,1,1,1\n",
       ":1: header: column 'arrived_at' twice"},
      {"UnknownDoolyColumn", kDooly + ",clas\n0,1,1,x\n",
       ":1: header: unknown column 'clas'; did you mean 'class'; known: arrival_s prompt_tokens output_tokens id class "
       "priority session turn "
       "after_s "
       "deadline_s prefix_id prefix_tokens block_ids block_size"},
      {"MissingCell", kVidur + "0,,1\n", ":2: row 1: num_prefill_tokens: missing"},
      {"MissingFieldInRow7001", row_7001, ":7002: row 7001: output_tokens: missing"},
      {"ShortRow", kVidur + "0,1\n", ":2: row 1: num_decode_tokens: missing: the header has 3 cells, this row 2"},
      {"LongRow", kVidur + "0,1,1,1\n", ":2: row 1: row: the header has 3 cells, this row 4"},
      {"OpenQuote", kVidur + "0,\"1,1\n", ":2: row 1: row: misplaced quote"},
      {"NanTime", kVidur + "nan,1,1\n", ":2: row 1: arrived_at: want a time from 0 to 10000000000 s, got 'nan'"},
      {"InfiniteTime", kVidur + "inf,1,1\n", ":2: row 1: arrived_at: want a time from 0 to 10000000000 s, got 'inf'"},
      {"NegativeTime", kVidur + "-1,1,1\n", ":2: row 1: arrived_at: want a time from 0 to 10000000000 s, got '-1'"},
      {"AbsurdTime", kVidur + "1e300,1,1\n", ":2: row 1: arrived_at: want a time from 0 to 10000000000 s, got '1e300'"},
      {"TextForTime", kVidur + "soon,1,1\n", ":2: row 1: arrived_at: want a number, got 'soon'"},
      {"NanTokens", kVidur + "0,nan,1\n", ":2: row 1: num_prefill_tokens: want a whole number, got 'nan'"},
      {"NegativeTokens", kVidur + "0,-5,1\n", ":2: row 1: num_prefill_tokens: must be from 1 to 100000000, got -5"},
      {"ZeroOutput", kVidur + "0,5,0\n", ":2: row 1: num_decode_tokens: must be from 1 to 100000000, got 0"},
      {"AbsurdTokens", kVidur + "0,5,4000000000\n",
       ":2: row 1: num_decode_tokens: must be from 1 to 100000000, got 4000000000"},
      {"TokensBeyond64Bits", kVidur + "0,5,99999999999999999999\n",
       ":2: row 1: num_decode_tokens: want a whole number, got '99999999999999999999'"},
      {"FractionOfAToken", kVidur + "0,5,1.5\n", ":2: row 1: num_decode_tokens: want a whole number, got '1.5'"},
      {"HexTokens", kVidur + "0,0x10,1\n", ":2: row 1: num_prefill_tokens: want a whole number, got '0x10'"},
      {"BadDate", kAzure + "2023-11-16,1,1\n", ":2: row 1: TIMESTAMP: want a date and time, got '2023-11-16'"},
      {"UnsortedDates", kAzure + "2023-11-16 18:00:01,1,1\n2023-11-16 18:00:00,1,1\n",
       ":3: row 2: arrival: -1 s" + kSort + "0 s; to sort: dooly workload convert --sort FILE"},
      {"UnsortedRows", kVidur + "1,1,1\n3.5,1,1\n2,1,1\n",
       ":4: row 3: arrival: 2 s" + kSort + "3.5 s; to sort: dooly workload convert --sort FILE"},
      {"DuplicateIds", kDooly + ",id\n0,1,1,5\n1,1,1,6\n2,1,1,5\n", ":4: row 3: id: 5 is taken by an earlier row"},
      {"IdMissing", kDooly + ",id\n0,1,1,5\n1,1,1,\n", ":3: row 2: id: missing: where one row has an id, all need one"},
      {"JsonIdMissing",
       "{\"arrival_s\":0,\"prompt_tokens\":1,\"output_tokens\":1,\"id\":1}\n{\"arrival_s\":0,\"prompt_tokens\":1,"
       "\"output_tokens\":1}\n",
       ":2: id: missing: where one row has an id, all need one"},
      {"NegativeId", kDooly + ",id\n0,1,1,-1\n", ":2: row 1: id: want a whole number from 0 to 2^64 - 2, got '-1'"},
      {"TooManyHashIds", mooncake(20, "[1, 2]"), ":1: hash_ids: want 1 ids for 20 tokens in blocks of 512, have 2"},
      {"TooFewHashIds", mooncake(1024, "[1]"), ":1: hash_ids: want 2 ids for 1024 tokens in blocks of 512, have 1"},
      {"NoHashIds", mooncake(20, "[]"), ":1: hash_ids: want 1 ids for 20 tokens in blocks of 512, have 0"},
      {"HashIdsAreText", mooncake(20, "[\"a\"]"), ":1: hash_ids: want whole numbers, got '\"a\"]'"},
      {"HashIdsNegative", mooncake(20, "[-1]"), ":1: hash_ids: want whole numbers, got '-1]'"},
      {"HashIdsNoList", mooncake(20, "7"), ":1: hash_ids: want a list of whole numbers"},
      {"MissingTimestamp", "{\"input_length\": 20, \"output_length\": 1, \"hash_ids\": [1]}\n",
       ":1: timestamp: missing"},
      {"NullTimestamp", "{\"timestamp\": null, \"input_length\": 20, \"output_length\": 1, \"hash_ids\": [1]}\n",
       ":1: timestamp: missing"},
      {"TimestampIsText", "{\"timestamp\": \"0\", \"input_length\": 20, \"output_length\": 1, \"hash_ids\": [1]}\n",
       ":1: timestamp: want a number, got 0"},
      {"BrokenJson", mooncake(20, "[1]") + "{\"timestamp\": 1, \"input_length\": 20",
       ":2: row: the object does not end on its line at column 36"},
      {"JsonFieldTwice",
       "{\"timestamp\": 1, \"timestamp\": 2, \"input_length\": 20, \"output_length\": 1, \"hash_ids\": [1]}\n",
       ":1: timestamp: given twice"},
      {"JsonTail", "{\"timestamp\": 1, \"input_length\": 20, \"output_length\": 1, \"hash_ids\": [1]} x\n",
       ":1: row: want nothing behind the object at column 75"},
      {"WrongBlockCountOfLlmServingSim",
       "{\"input_toks\":40,\"output_toks\":1,\"arrival_time_ns\":0,\"hash_ids\":[1]}\n",
       ":1: hash_ids: want 2 or 3 ids for 40 tokens in blocks of 16, have 1"},
      {"UnknownJsonField", "{\"arrival_s\":0,\"prompt_tokens\":1,\"output_tokens\":1,\"clas\":\"x\"}\n",
       ":1: clas: unknown field; did you mean 'class'; known: arrival_s prompt_tokens output_tokens id class priority "
       "session turn after_s deadline_s prefix_id prefix_tokens block_ids block_size"},
      {"ControlCharacterInAClass", "{\"arrival_s\":0,\"prompt_tokens\":1,\"output_tokens\":1,\"class\":\"a\\nb\"}\n",
       ":1: class: holds a control character"},
      {"AClassThatIsNotUtf8", kDooly + ",class\n0,20,1,\xff\xfe\n", ":2: row 1: class: is not UTF-8"},
      {"BlocksWithoutSize", kDooly + ",block_ids\n0,20,1,1\n",
       ":2: row 1: block_ids: no block size: write it in the header comment, # block_size=16"},
      {"BadBlockSize", "# block_size=0\n" + kDooly + "\n0,1,1\n", ":1: block_size: want a whole number of at least 1"},
      {"PrefixWithoutTokens", kDooly + ",prefix_id,prefix_tokens\n0,20,1,1,\n",
       ":2: row 1: prefix_tokens: missing: prefix_id and prefix_tokens go together"},
      {"PrefixBeyondPrompt", kDooly + ",prefix_id,prefix_tokens\n0,20,1,1,21\n",
       ":2: row 1: prefix_tokens: 21 exceed the 20 prompt tokens"},
      {"AfterWithoutSession", kDooly + ",after_s\n,20,1,1\n", ":2: row 1: session: missing: after_s needs it"},
      {"NoArrival", kDooly + "\n,20,1\n", ":2: row 1: arrival_s: missing"},
      {"FirstTurnWithoutArrival", kDooly + ",session,after_s\n,20,1,4,1\n",
       ":2: row 1: arrival_s: missing in the first turn of session 4"},
      {"TurnLeftOut", kDooly + ",session,turn,after_s\n0,20,1,4,0,\n,50,1,4,2,1\n",
       ":3: row 2: turn: want turn 1 of session 4, have 2"},
      {"SessionTwice", kDooly + ",session,turn,after_s\n0,20,1,4,0,\n1,20,1,4,0,\n",
       ":3: row 2: turn: want turn 1 of session 4, have 0"},
      {"TurnWithoutTheConversation", kDooly + ",session,turn,after_s\n0,20,5,4,0,\n,24,1,4,1,1\n",
       ":3: row 2: prompt_tokens: a later turn's prompt holds the whole conversation so far, at least 25 tokens, got "
       "24"},
      {"ArrivalAndAfter", kDooly + ",session,turn,after_s\n0,20,5,4,0,\n1,30,1,4,1,1\n",
       ":3: row 2: after_s: a later turn has either an arrival_s or an after_s, not both"},
      {"DeadlineBeforeArrival", kDooly + ",deadline_s\n5,20,1,4\n", ":2: row 1: deadline_s: 4 is before the arrival 5"},
      {"NoTimes", "num_prefill_tokens,num_decode_tokens\n1,1\n",
       ": has no arrival times: put it into a scenario with `arrivals` and export that"},
      {"BenchWithoutStarts", "{\"input_lens\": [1], \"output_lens\": [1]}",
       ": start_times: missing: this result has no start times; newer versions of the benchmark write them"},
      {"BenchCountsDiffer", "{\"input_lens\": [1, 2], \"output_lens\": [1], \"start_times\": [1, 2]}",
       ": output_lens: want 2 entries, have 1"},
      {"BenchNull", "{\"input_lens\": [1, null], \"output_lens\": [1, 1], \"start_times\": [1, 2]}",
       ": row 2: input_lens: want a number, got null"},
      {"BenchFailedRequest", "{\"input_lens\": [1], \"output_lens\": [0], \"start_times\": [1]}",
       ": row 1: output_lens: must be a whole number from 1 to 100000000, got 0 (a request that failed in the "
       "benchmark)"},
      {"ServegenIsNoRequestLog", "client_id,timestamp_s,rate_rps,cv,pattern,pat_arg1,pat_arg2\n0,0,1,1,Gamma,1,1\n",
       ": format servegen holds statistics of clients, not requests"},
      {"OtherFormat", kVidur + "0,1,1\n", ": is of format vidur, not azure", "azure"},
      {"CsvForJson", "x,y\n0,1\n", ":1: format mooncake is one JSON object a line", "mooncake"},
  };
}

INSTANTIATE_TEST_SUITE_P(Readers, EveryFault, testing::ValuesIn(faults()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(ReaderFaults, MissingFileAndDirectoryAreNamed) {
  EXPECT_EQ(test::error_of([] { open_trace("/nowhere/x.csv"); }), "/nowhere/x.csv: No such file or directory");
  const test::TempFile file("x", "");
  EXPECT_EQ(test::error_of([&] { open_trace(file.path().parent_path()); }),
            file.path().parent_path().string() + ": is a directory, not a file");
}

TEST(ReaderFaults, AVeryLongLineIsRefused) {
  const std::string error = test::error_of([] {
    const auto reader = read_trace("trace", kVidur + std::string(65 << 20, '1'));
    TraceRow row;
    reader->next(row);
  });
  EXPECT_EQ(error, "trace:2: line longer than 64 MiB");
}

}  // namespace
}  // namespace dooly::workload

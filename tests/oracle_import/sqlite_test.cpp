#include "profile_folder.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace dooly::import_ {
namespace {

using test::MemorySamples;
using test::ProfileFolder;

constexpr const char* kDatabase = R"(
CREATE TABLE signatures (operation_id INTEGER PRIMARY KEY, signature_hash TEXT UNIQUE, operation_name TEXT, signature_json TEXT, created_at TEXT);
CREATE TABLE results (id INTEGER PRIMARY KEY, signature_hash TEXT, mean_latency_ms REAL, median_latency_ms REAL, max_latency_ms REAL, min_latency_ms REAL, std_latency_ms REAL,
  num_tokens INTEGER, num_requests INTEGER, is_context INTEGER, is_prefill INTEGER, kv_cache_size INTEGER, prefill_chunk_size INTEGER, activated_experts INTEGER,
  num_tensor_parallel_workers INTEGER, input_shapes TEXT, created_at TEXT);
CREATE TABLE profiled_models (model_id INTEGER PRIMARY KEY, model_name TEXT, model_family TEXT, backend TEXT, tp_degree INTEGER, dtype TEXT, created_at TEXT);
CREATE TABLE model_operations (id INTEGER PRIMARY KEY, model_id INTEGER, operation_id INTEGER, count INTEGER, created_at TEXT);
CREATE TABLE coll_op_results (id INTEGER PRIMARY KEY, operation TEXT, topology TEXT, backend TEXT, tp_size INTEGER, size_bytes INTEGER, dtype TEXT, dim_param TEXT, num_dims INTEGER, latency_ms REAL);
INSERT INTO signatures VALUES (1, 'aaaaaaaaaaaaaaaaaaaa', 'aten::linear', '["aten::linear", [["input0_dim1", 4096], ["input1_dim0", 6144], ["input1_dim1", 4096]], ["gemm"]]', '');
INSERT INTO signatures VALUES (2, 'bbbbbbbbbbbbbbbbbbbb', 'Attention', '["Attention", [["input0_dim1", 4096]], [], [], "x"]', '');
INSERT INTO results VALUES (1, 'aaaaaaaaaaaaaaaaaaaa', 0.012, 0.0125, 0.02, 0.011, 0.001, 16, 1, 0, 1, 0, 0, NULL, 1, '', '');
INSERT INTO results VALUES (2, 'bbbbbbbbbbbbbbbbbbbb', 0.05, 0.05, 0.06, 0.04, 0.001, 128, 1, 1, 1, 512, 128, NULL, 1, '', '');
INSERT INTO results VALUES (3, 'bbbbbbbbbbbbbbbbbbbb', 0.02, 0.02, 0.03, 0.02, 0.001, 4, 4, 0, 0, 512, 0, NULL, 1, '', '');
INSERT INTO profiled_models VALUES (1, 'm/one', 'llama', 'FLASHINFER', 1, 'bfloat16', '');
INSERT INTO profiled_models VALUES (2, 'm/two', 'llama', 'FLASHINFER', 1, 'bfloat16', '');
INSERT INTO model_operations VALUES (1, 1, 1, 32, '');
INSERT INTO model_operations VALUES (2, 2, 1, 16, '');
INSERT INTO coll_op_results VALUES (1, 'all_reduce', '', 'nccl', 2, 8192, 'bfloat16', 'NUM_TOKS', 1, 0.02);
)";

std::filesystem::path database(const ProfileFolder& folder, const char* statements) {
  const auto path = folder.path() / "dooly.db";
  sqlite3* handle = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, statements, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
  return path;
}

TEST(DoolySqlite, OperationsResultsAndCollectives) {
  const ProfileFolder folder;
  const auto path = database(folder, kDatabase);
  MemorySamples out;
  const ImportReport report = import_profile("dooly-sqlite", path, {.gpu = "A100"}, out);
  EXPECT_EQ(out.text,
            "# A100-SXM-80GB dooly-sqlite \n"
            "linear bfloat16/bfloat16/bfloat16 4096x6144 m cublas | 16,0,0,0,0,0,0 | 12.5 n=0\n"
            "dooly:Attention bfloat16 4096 signature=bbbbbbbbbbbbbbbb batch unknown | 0,0,0,4,512,0,0 | 20 n=0\n"
            "dooly:Attention bfloat16 4096 signature=bbbbbbbbbbbbbbbb batch unknown | 1,128,512,0,0,0,0 | 50 n=0\n"
            "# A100-SXM-80GB dooly-sqlite nvlink\n"
            "all_reduce bfloat16 2 bytes nccl | 8192,2,0,0,0,0,0 | 20 n=0\n"
            "all_reduce float16 2 bytes nccl | 8192,2,0,0,0,0,0 | 20 n=0\n");
  ASSERT_EQ(report.shared.size(), 1u);
  EXPECT_EQ(report.shared[0].models, (std::vector<std::string>{"m/one", "m/two"}));
}

TEST(DoolySqlite, MustBeToldTheGpuAndNeedsItsTables) {
  const ProfileFolder folder;
  const auto path = database(folder, kDatabase);
  MemorySamples out;
  EXPECT_THROW(import_profile("dooly-sqlite", path, {}, out), ImportError);
  const ProfileFolder other;
  EXPECT_THROW(import_profile("dooly-sqlite", database(other, "CREATE TABLE t (a)"), {.gpu = "A100"}, out),
               ImportError);
  EXPECT_THROW(
      import_profile("dooly-sqlite",
                     other.write("x.db", "no database, but long enough to be read as one, or so one would think"),
                     {.gpu = "A100"}, out),
      ImportError);
}

}  // namespace
}  // namespace dooly::import_

// TAB-07 of the project's collection of faults, as a user meets it: a model that declares millions
// of positions is shown in little memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

#ifdef ROPEWALK_PROGRAM
const char* const kProgram = ROPEWALK_PROGRAM;
#else
const char* const kProgram = nullptr;
#endif

// The largest that any program run by this one has been.
double peak_megabytes_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Shows a model of that many positions; the megabytes that took at most, or an earlier run did.
double show(int64_t positions, const std::string& mode) {
  const TempDirectory folder;
  const std::string config = folder.write("config.json", R"({
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 5120,
    "num_attention_heads": 40, "num_key_value_heads": 8, "num_hidden_layers": 48,
    "head_dim": 128, "vocab_size": 202048, "rope_theta": 500000.0,
    "rope_scaling": {"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0,
                     "high_freq_factor": 1.0, "original_max_position_embeddings": 8192},
    "max_position_embeddings": )" + std::to_string(positions) +
                                                             "}");
  const std::string line = "'" + std::string(kProgram) + "' show '" + config + "'" + mode + " >'" +
                           folder.path() + "/out' 2>&1";
  const int status = std::system(line.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << read_file(folder.path() + "/out");
  return peak_megabytes_of_children();
}

TEST(Reports, TAB_07_TenMillionPositionsAreShownInLittleMemory) {
  if (kProgram == nullptr) GTEST_SKIP() << "built without the command";
  for (const std::string mode : {"", " --json"}) {
    const double few = show(16384, mode);
    const double many = show(10485760, mode);
    std::printf("  show%s: %.0f MB at most\n", mode.c_str(), many);
    EXPECT_LT(many, std::max(100.0, few + 10)) << mode;
  }
}

}  // namespace
}  // namespace ropewalk

// The options that every command running a model shares.
#ifndef ROPEWALK_CLI_MODEL_OPTIONS_H_
#define ROPEWALK_CLI_MODEL_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/engine/memory_estimate.h"
#include "ropewalk/engine/model.h"

namespace ropewalk {

struct ModelOptions {
  std::string path;
  std::string precision = "f32";
  std::string weights = "auto";
  int threads = 0;  // 0: as many as the machine offers

  void add_to(CLI::App& command);
  // Sets the thread count and opens the file, without its weights. Throws Error.
  ModelFile open() const;
  // The same where it is of a decoder that is run. Throws Error.
  ModelFile open_decoder() const;
  Precision chosen_precision() const;
};

// fit_memory(), and a word on standard error where it has weights streamed.
void fit_into_memory(ModelFile& file, const MemoryRun& run, const std::string& shorten,
                     const std::optional<AvailableMemory>& available = available_memory());
// Says on standard error that weights do not fit and are streamed.
void tell_streamed(const AvailableMemory& available);

struct SchemeOptions {
  std::string scheme = "declared";
  std::vector<std::string> layer_schemes;  // "FIRST:LAST=SCHEME"
  std::string angles = "exact";

  void add_to(CLI::App& command);
  Positions positions(const ModelConfig& config) const;
  // "declared, layers 0:1=cap,window=9": what one line can say of it.
  std::string text() const;
};

inline constexpr size_t kMostTextBytes = size_t{4} << 30;

// The whole file or pipe, bytes as they are, at most kMostTextBytes. "-" is standard input. Throws
// Error.
std::string read_text(const std::string& path);

// A JSON array of token ids, taken as it is. "-" is standard input. Throws Error.
std::vector<int32_t> read_ids(const std::string& path);

// Tokens by --text or --ids, of which there must be one.
struct TokenInput {
  std::string text;
  std::string ids;

  void add_to(CLI::App& command);

  // The model's tokenizer is asked for where a text is given. Throws Error.
  std::vector<int32_t> read(const ModelFile& model) const;
};

// "[1, 2, 3]"
std::string json_list(std::span<const int32_t> ids);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_MODEL_OPTIONS_H_

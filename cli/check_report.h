// What `ropewalk check` finds in a file, worked out.
#ifndef ROPEWALK_CLI_CHECK_REPORT_H_
#define ROPEWALK_CLI_CHECK_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "ropewalk/base/error.h"
#include "ropewalk/config/model_config.h"
#include "ropewalk/engine/memory_estimate.h"

namespace ropewalk {

inline constexpr int64_t kMostCheckTokens = int64_t{1} << 24;  // that memory is foretold for

struct CheckOptions {
  ModelOptions model;
  std::string text;    // a file; empty: none
  int64_t tokens = 0;  // of the text that memory is foretold for; 0: the trained length, or 512
  bool strict = false;
  bool json = false;
};

struct CheckFault {
  std::string key;  // or the tensor, or the file itself
  FaultKind kind = FaultKind::kUnspecified;
  std::string rule;
  std::string value;
  std::string mend;
  std::vector<std::string> engines;  // what engines do all the same
};

struct TensorCheck {
  size_t n_tensors = 0;
  size_t n_finite = 0;                          // looked at, every value a number
  std::map<std::string, size_t> not_decodable;  // by type: not looked at
  std::string not_read;                         // why none was looked at; empty where they were
};

// Of weights that were packed to be run.
struct TextCheck {
  double mean_loss = 0;  // nats per token
  double ignorance = 0;  // ln(vocabulary): what knowing nothing would cost
  int64_t tokens = 0;
};

// What losses, or an encoder's states, of a text of so many tokens will take.
struct MemoryCheck {
  std::string of;
  int64_t tokens = 0;
  std::string precision;
  bool streamed = false;  // the weights
  MemoryEstimate estimate;
  std::optional<AvailableMemory> available;

  bool fits() const { return !available || estimate.wanted() <= available->bytes; }
};

struct CheckReport {
  std::string path;
  std::string format;        // empty where it could not be told
  std::string architecture;  // likewise
  std::vector<CheckFault> faults;
  std::vector<Finding> warnings;
  std::vector<Finding> remarks;
  std::vector<DeclaredField> assumed;
  TensorCheck tensors;
  std::string obstacle;             // why Ropewalk's engine does not run it; empty where it does
  bool weights_in_place = false;    // all where the architecture expects them
  bool encoder = false;             // or with one before its decoder
  int64_t tower_tensors = 0;        // of images or sounds, that a text goes without
  std::vector<std::string> towers;  // how their names start
  std::optional<MemoryCheck> memory;
  bool text_given = false;
  std::optional<TextCheck> text;  // where it could be scored

  // 0: clean; 1: faults, or under --strict warnings or assumed values.
  int exit_status(bool strict) const;
};

// Never throws for what is wrong with the model; throws Error where the text cannot be read.
CheckReport check_file(const CheckOptions& options);

void print_check_text(const CheckReport& report, bool strict);
void print_check_json(const CheckReport& report, bool strict);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_CHECK_REPORT_H_

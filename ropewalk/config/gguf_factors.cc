// Source: llama.cpp: get_rope_factors, and the tensors that src/models create.
#include "ropewalk/config/gguf_factors.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/schemes/registry.h"

namespace ropewalk {
namespace {

using Factors = GgufArchitecture::Factors;
using Kind = GgufFactors::Kind;

constexpr const char* kRopeFreqs = "rope_freqs.weight";
constexpr const char* kLong = "rope_factors_long.weight";
constexpr const char* kShort = "rope_factors_short.weight";

bool is_cut_off(const GgufFile& file, const char* name) {
  const TensorInfo* const info = file.find_tensor(name);
  return info != nullptr && info->offset + info->bytes > file.bytes().size();
}

class FactorFinder {
 public:
  FactorFinder(const GgufFile& file, const GgufKeys& keys, const GgufArchitecture& architecture,
               const std::string& scaling_type, GgufReport& report)
      : file_(file),
        keys_(keys),
        architecture_(architecture),
        longrope_(scaling_type == "longrope"),
        report_(report) {}

  GgufFactors find() {
    GgufFactors found;
    if (file_.find_tensor(kRopeFreqs) != nullptr) {
      found.kind = Kind::kFreqs;
      found.cut_off = is_cut_off(file_, kRopeFreqs);
      note_freqs();
      note_unused_lists(std::string(kRopeFreqs) + " comes first");
    } else if (has_lists()) {
      found.kind = Kind::kLists;
      found.cut_off = is_cut_off(file_, kLong) || is_cut_off(file_, kShort);
    } else {
      found.cut_off = may_be_elsewhere();
    }
    if (found.kind != Kind::kNone && found.cut_off) {
      report_.warn(FaultKind::kMissingKey, found.kind == Kind::kFreqs ? kRopeFreqs : kLong,
                   "the file is cut off before the values of its frequency factors: the "
                   "frequencies are those that the factors divide");
    }
    return found;
  }

 private:
  bool lists_wanted() const { return longrope_ || architecture_.factors == Factors::kLists; }

  // Both lists are there and in force.
  bool has_lists() {
    const bool has_long = file_.find_tensor(kLong) != nullptr;
    const bool has_short = file_.find_tensor(kShort) != nullptr;
    if (!lists_wanted()) {
      note_unused_lists(keys_.key("rope.scaling.type") + " is not longrope");
      return false;
    }
    const bool needed = longrope_ && !file_.tensors().empty() && !is_part();
    if (has_long != has_short || (needed && !has_long)) {
      throw Error(file_.name() + ": " + (has_long ? kShort : kLong),
                  "must be present: long and short factors come together")
          .of(FaultKind::kMissingKey);
    }
    const Factors loads = architecture_.factors;
    if (has_long && loads != Factors::kLists && loads != Factors::kFreqsOrLists)
      note_refused(kLong);
    return has_long;
  }

  // The first file of several: tensors may be in others.
  bool is_part() const { return file_.is_part(); }

  // Lists are there wherever the scaling says so, or the model was stretched.
  bool lists_expected() const {
    if (longrope_ || architecture_.factors != Factors::kLists) return longrope_;
    const GgufMetadata& metadata = file_.metadata();
    const auto context = metadata.find_i64(keys_.key("context_length"));
    const auto original = metadata.find_i64(keys_.key("rope.scaling.original_context_length"));
    return context && original && *original < *context;
  }

  bool may_be_elsewhere() {
    const bool freqs = is_part() && architecture_.factors != Factors::kNone && !lists_wanted();
    if (!freqs && (!lists_expected() || (!file_.tensors().empty() && !is_part()))) return false;
    report_.warn(FaultKind::kMissingKey, freqs ? kRopeFreqs : kLong,
                 std::string(is_part() ? "this part of the model" : "the file") +
                     " holds no frequency factors, which llama.cpp looks for: the frequencies are "
                     "those without");
    return true;
  }

  void note_unused_lists(const std::string& why) {
    if (file_.find_tensor(kLong) == nullptr && file_.find_tensor(kShort) == nullptr) return;
    report_.warn(FaultKind::kInconsistent, kLong, "tensors rope_factors_* are not used: " + why);
  }

  void note_freqs() {
    const Factors loads = architecture_.factors;
    if (loads == Factors::kUnused) {
      report_.warn(FaultKind::kInconsistent, kRopeFreqs,
                   std::string(kRopeFreqs) +
                       " divides the frequencies; llama.cpp loads it and "
                       "turns without it under architecture " +
                       keys_.architecture());
    } else if (loads == Factors::kNone || loads == Factors::kLists ||
               (loads == Factors::kFreqsOrLists && longrope_)) {
      note_refused(kRopeFreqs);
    }
  }

  void note_refused(const char* tensor) {
    report_.warn(FaultKind::kInconsistent, tensor,
                 std::string(tensor) +
                     " divides the frequencies; llama.cpp does not load it under "
                     "architecture " +
                     keys_.architecture() + ", and refuses files with tensors to spare");
  }

  const GgufFile& file_;
  const GgufKeys& keys_;
  const GgufArchitecture& architecture_;
  const bool longrope_;
  GgufReport& report_;
};

std::vector<double> read_divisors(const GgufFile& file, const char* tensor, int64_t n_stored,
                                  int64_t n_pairs, GgufReport& report) {
  std::vector<float> stored = read_vector(file, tensor, static_cast<uint64_t>(n_stored));
  for (size_t pair = 0; pair < stored.size(); ++pair) {
    if (!std::isfinite(stored[pair]) || stored[pair] <= 0) {
      throw Error(file.name() + ": " + tensor + "[" + std::to_string(pair) + "]",
                  "must be finite and positive: it divides a frequency",
                  std::to_string(stored[pair]))
          .of(FaultKind::kOutOfRange);
    }
  }
  stored.resize(static_cast<size_t>(n_pairs));
  const auto [least, most] = std::ranges::minmax(stored);
  report.field("frequency_divisors", to_text(least) + " to " + to_text(most), Provenance::kFile,
               std::string("tensor ") + tensor);
  return {stored.begin(), stored.end()};
}

}  // namespace

GgufFactors find_gguf_factors(const GgufFile& file, const GgufKeys& keys,
                              const GgufArchitecture& architecture, const std::string& scaling_type,
                              GgufReport& report) {
  return FactorFinder(file, keys, architecture, scaling_type, report).find();
}

std::vector<std::vector<double>> read_gguf_factors(const GgufFile& file, const GgufFactors& factors,
                                                   int64_t n_stored, int64_t n_pairs,
                                                   GgufReport& report) {
  std::vector<std::vector<double>> lists;
  if (factors.cut_off) return lists;
  if (factors.kind == Kind::kFreqs) {
    lists.push_back(read_divisors(file, kRopeFreqs, n_stored, n_pairs, report));
  } else if (factors.kind == Kind::kLists) {
    for (const char* list : {kLong, kShort}) {
      lists.push_back(read_divisors(file, list, n_stored, n_pairs, report));
    }
  }
  return lists;
}

}  // namespace ropewalk

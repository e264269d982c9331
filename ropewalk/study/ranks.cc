#include "ropewalk/study/ranks.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

constexpr const char* kRank = "OMPI_COMM_WORLD_RANK";
constexpr const char* kSize = "OMPI_COMM_WORLD_SIZE";
constexpr const char* kLocalSize = "OMPI_COMM_WORLD_LOCAL_SIZE";
constexpr const char* kJob = "PMIX_NAMESPACE";
constexpr int kMostRanks = 1 << 20;
constexpr size_t kLongestJob = 255;  // PMIX_MAX_NSLEN
constexpr const char* kMend = "unset OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE to run alone";

int number(const char* name, const char* text, int least, int most) {
  const std::string rule =
      "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (text == nullptr) throw Error(name, rule, "nothing", kMend).of(FaultKind::kMissingKey);
  const std::string_view digits(text);
  int value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failed != std::errc() || end != digits.data() + digits.size() || value < least ||
      value > most) {
    throw Error(name, rule, digits.empty() ? "nothing" : printable(digits), kMend)
        .of(FaultKind::kOutOfRange);
  }
  return value;
}

std::string job_name(const char* text) {
  const std::string_view name(text == nullptr ? "" : text);
  const bool is_plain = std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
  if (name.empty() || name.size() > kLongestJob || !is_plain) {
    throw Error(kJob,
                "must name the job in at most " + std::to_string(kLongestJob) +
                    " characters of ASCII, as Open MPI 3 and newer do",
                name.empty() ? "nothing" : printable(name), kMend)
        .of(FaultKind::kMissingKey);
  }
  return std::string(name);
}

}  // namespace

std::optional<Ranks> read_ranks(const std::function<const char*(const char*)>& variable) {
  if (variable(kRank) == nullptr && variable(kSize) == nullptr) return std::nullopt;
  const int size = number(kSize, variable(kSize), 1, kMostRanks);
  const int rank = number(kRank, variable(kRank), 0, size - 1);
  if (size == 1) return std::nullopt;
  return Ranks{.rank = rank,
               .size = size,
               .local_size = number(kLocalSize, variable(kLocalSize), 1, size),
               .job = job_name(variable(kJob))};
}

int threads_of_a_rank(const Ranks& ranks, int cores, int allowed) {
  return std::max(1, std::min(allowed, cores / ranks.local_size));
}

}  // namespace ropewalk

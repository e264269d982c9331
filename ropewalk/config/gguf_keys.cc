#include "ropewalk/config/gguf_keys.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/printable.h"

namespace ropewalk {
namespace {

constexpr int64_t kLargestSize = int64_t{1} << 31;

// Shortest decimal that reads back the same; without an exponent where people write none.
template <typename Float>
std::string shortest(Float number) {
  constexpr Float kLeastFixed = static_cast<Float>(1e-4);
  constexpr Float kMostFixed = static_cast<Float>(1e15);
  const bool fixed =
      number == 0 || (std::abs(number) >= kLeastFixed && std::abs(number) < kMostFixed);
  char text[64];
  const std::to_chars_result end =
      std::to_chars(text, text + sizeof(text), number,
                    fixed ? std::chars_format::fixed : std::chars_format::general);
  return {text, end.ptr};
}

}  // namespace

GgufKeys::GgufKeys(const GgufFile& file)
    : file_(file), architecture_(file.metadata().get_string("general.architecture")) {}

std::string GgufKeys::key(std::string_view suffix) const {
  return architecture_ + "." + std::string(suffix);
}

std::string GgufKeys::place(std::string_view suffix) const {
  return file_.name() + ": " + key(suffix);
}

bool GgufKeys::has(std::string_view suffix) const { return file_.metadata().contains(key(suffix)); }

std::string spelled(const GgufValue& value) {
  if (value.type == GgufType::kFloat32) {
    return shortest(static_cast<float>(std::get<double>(value.scalar)));
  }
  if (value.type == GgufType::kArray) return value.describe();
  if (const auto* text = std::get_if<std::string_view>(&value.scalar)) return printable(*text, 60);
  if (const auto* flag = std::get_if<bool>(&value.scalar)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<uint64_t>(&value.scalar)) return std::to_string(*number);
  if (const auto* number = std::get_if<int64_t>(&value.scalar)) return std::to_string(*number);
  return shortest(std::get<double>(value.scalar));
}

std::string GgufKeys::spelled(std::string_view suffix) const {
  const GgufValue* const value = file_.metadata().find(key(suffix));
  return value == nullptr ? std::string() : ropewalk::spelled(*value);
}

bool GgufKeys::is_list(std::string_view suffix) const {
  const GgufValue* const value = file_.metadata().find(key(suffix));
  return value != nullptr && value->type == GgufType::kArray;
}

std::optional<int64_t> GgufKeys::size(std::string_view suffix) {
  const std::optional<int64_t> found = count(suffix);
  if (found && *found < 1) {
    throw Error(place(suffix), "must be from 1 to 2^31", std::to_string(*found))
        .of(FaultKind::kOutOfRange);
  }
  return found;
}

std::optional<int64_t> GgufKeys::count(std::string_view suffix) {
  mark(suffix);
  const GgufValue* const value = file_.metadata().find(key(suffix));
  if (value != nullptr && value->type == GgufType::kArray) {
    throw Error(place(suffix), "must be one number for all layers", value->describe())
        .of(FaultKind::kBadType);
  }
  const std::optional<int64_t> found = file_.metadata().find_i64(key(suffix));
  if (found) check_count(suffix, *found);
  return found;
}

void GgufKeys::check_count(std::string_view suffix, int64_t value) const {
  if (value >= 0 && value <= kLargestSize) return;
  throw Error(place(suffix), "must be from 0 to 2^31", std::to_string(value))
      .of(FaultKind::kOutOfRange);
}

std::optional<std::vector<int64_t>> GgufKeys::counts(std::string_view suffix, int64_t n) {
  mark(suffix);
  const GgufValue* const value = file_.metadata().find(key(suffix));
  if (value == nullptr) return std::nullopt;
  std::vector<int64_t> found;
  if (value->type == GgufType::kBool) {
    found.assign(std::max<size_t>(1, n), std::get<bool>(value->scalar) ? 1 : 0);
  } else if (value->type != GgufType::kArray) {
    found.assign(std::max<size_t>(1, n), count(suffix).value_or(0));
  } else if (value->element_type == GgufType::kBool) {
    std::ranges::copy(file_.metadata().get_bool_array(key(suffix)), std::back_inserter(found));
  } else {
    std::ranges::copy(file_.metadata().get_i32_array(key(suffix)), std::back_inserter(found));
  }
  for (const int64_t entry : found) check_count(suffix, entry);
  if (std::ssize(found) < n) {
    throw Error(place(suffix), "must have a value for each of the " + std::to_string(n) + " layers",
                std::to_string(found.size()) + " values")
        .of(FaultKind::kWrongLength);
  }
  return found;
}

std::optional<double> GgufKeys::number(std::string_view suffix) {
  mark(suffix);
  const std::optional<double> found = file_.metadata().find_f64(key(suffix));
  if (found && !std::isfinite(*found)) {
    throw Error(place(suffix), "must be finite", spelled(suffix)).of(FaultKind::kOutOfRange);
  }
  return found;
}

std::optional<bool> GgufKeys::flag(std::string_view suffix) {
  mark(suffix);
  return file_.metadata().find_bool(key(suffix));
}

std::optional<std::string> GgufKeys::text(std::string_view suffix) {
  mark(suffix);
  const std::optional<std::string_view> found = file_.metadata().find_string(key(suffix));
  if (!found) return std::nullopt;
  return std::string(*found);
}

void GgufKeys::mark(std::string_view suffix) { read_.insert(key(suffix)); }

std::vector<std::string> GgufKeys::unread(std::initializer_list<std::string_view> prefixes) const {
  std::vector<std::string> found;
  for (const GgufEntry& entry : file_.metadata().entries()) {
    const std::string name(entry.key);
    if (read_.contains(name)) continue;
    for (const std::string_view prefix : prefixes) {
      if (name.starts_with(key(prefix))) {
        found.push_back(name);
        break;
      }
    }
  }
  return found;
}

}  // namespace ropewalk

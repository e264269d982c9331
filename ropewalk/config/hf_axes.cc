// Source: transformers, modeling_qwen2_vl.py, modeling_qwen3_vl.py, modeling_ernie4_5_vl_moe.py,
// modeling_glm4v.py; vLLM, xdrope.py.
#include "ropewalk/config/hf_axes.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/math/axes.h"

namespace ropewalk {
namespace {

using Axes = HfFamily::Axes;

class AxesReader {
 public:
  AxesReader(HfReading& reading, const HfKeys& keys, int64_t n_pairs, HfNotes& notes)
      : reading_(reading), keys_(keys), n_pairs_(n_pairs), notes_(notes) {}

  std::vector<uint8_t> read() {
    if (keys_.block != nullptr && keys_.block->has_value("xdrope_section")) return four();
    if (keys_.type == "xdrope") throw keys_.block->missing("xdrope_section");
    const std::string key = "mrope_section";
    if (keys_.block != nullptr && keys_.block->has(key)) {
      return placed(numbers(key), keys_.block->place(key), keys_.block->name(key),
                    Provenance::kFile);
    }
    if (keys_.type == "mrope") throw keys_.block->missing(key);
    if (reading_.top.has_value("freq_allocation") && reading_.family.axes == Axes::kErnie) {
      return by_allocation();
    }
    const auto& sections = reading_.family.sections;
    if (sections[0] == 0) return {};
    return placed({sections.begin(), sections.end()}, reading_.top.place(key), key + " is absent",
                  Provenance::kFamilyDefault);
  }

 private:
  std::vector<int64_t> numbers(const std::string& key);
  std::vector<uint8_t> four();
  std::vector<uint8_t> by_allocation();
  std::vector<uint8_t> placed(std::vector<int64_t> sections, const std::string& place,
                              const std::string& from, Provenance provenance);
  bool is_interleaved();
  void note_engines(const std::vector<int64_t>& sections, const std::vector<uint8_t>& axes);

  HfReading& reading_;
  const HfKeys& keys_;
  const int64_t n_pairs_;
  HfNotes& notes_;
};

std::vector<int64_t> AxesReader::numbers(const std::string& key) {
  std::vector<int64_t> sections;
  const std::vector<double> numbers = *keys_.block->numbers(key);
  for (const double number : numbers) {
    if (std::trunc(number) != number || std::abs(number) > kMaxHeadDim) {
      throw keys_.block->wrong(key, "must hold integers, none above the width of a head",
                               FaultKind::kBadType);
    }
    sections.push_back(static_cast<int64_t>(number));
  }
  return sections;
}

std::string list_text(const std::vector<int64_t>& sections, const char* const* names) {
  std::string text;
  for (size_t i = 0; i < sections.size(); ++i) {
    text += (text.empty() ? "" : ", ") + std::string(names[i]) + " " + std::to_string(sections[i]);
  }
  return text;
}

// XD-RoPE: position, width, height, time, one block after the other.
std::vector<uint8_t> AxesReader::four() {
  static constexpr const char* kNames[] = {"position", "width", "height", "time"};
  const std::string key = "xdrope_section";
  const std::vector<int64_t> sections = numbers(key);
  check_sections(keys_.block->place(key), sections, 4, 4, n_pairs_);
  notes_.field("axes", list_text(sections, kNames) + " pairs in blocks", Provenance::kFile,
               keys_.block->name(key));
  return contiguous_axes(sections);
}

// ERNIE's remote code says how many of the slowest pairs are time's.
std::vector<uint8_t> AxesReader::by_allocation() {
  const std::string key = "freq_allocation";
  const int64_t time = *reading_.top.size(key);
  reading_.top.mark("rope_3d");
  const int64_t side = std::max<int64_t>(0, (n_pairs_ - time) / 2);
  return placed({side, side, time}, reading_.top.place(key), key, Provenance::kFile);
}

bool AxesReader::is_interleaved() {
  const std::string key = "mrope_interleaved";
  const bool by_family = reading_.family.axes == Axes::kInterleaved;
  if (keys_.block == nullptr || !keys_.block->has_value(key)) {
    if (keys_.block != nullptr) keys_.block->mark(key);
    return by_family;
  }
  const bool said = *keys_.block->flag(key);
  if (by_family && !said) {
    notes_.warn(keys_.block->name(key),
                keys_.block->name(key) + " is false, but the class of " +
                    std::string(reading_.family.name) + " interleaves whatever it says",
                FaultKind::kInconsistent);
  }
  return said;
}

std::vector<uint8_t> AxesReader::placed(std::vector<int64_t> sections, const std::string& place,
                                        const std::string& from, Provenance provenance) {
  static constexpr const char* kTime[] = {"time", "height", "width", "extra"};
  static constexpr const char* kErnie[] = {"height", "width", "time", "extra"};
  const bool ernie = reading_.family.axes == Axes::kErnie;
  if (sections.size() == 4 && sections[3] == 0) sections.pop_back();
  check_sections(place, sections, 3, ernie ? 3 : 4, n_pairs_);
  const bool interleaved = is_interleaved();
  if (ernie) {
    notes_.field("axes", list_text(sections, kErnie) + " pairs: height and width in turn",
                 provenance, from);
    return ernie_axes(place, sections);
  }
  if (interleaved && sections.size() != 3) {
    throw Error(place, "must hold 3 numbers where mrope_interleaved is true",
                std::to_string(sections.size()))
        .of(FaultKind::kWrongLength);
  }
  notes_.field("axes",
               list_text(sections, kTime) + (interleaved ? " pairs in turn" : " pairs in blocks"),
               provenance, from);
  const std::vector<uint8_t> axes =
      interleaved ? interleaved_axes(sections) : contiguous_axes(sections);
  if (interleaved) note_engines(sections, axes);
  return axes;
}

void AxesReader::note_engines(const std::vector<int64_t>& sections,
                              const std::vector<uint8_t>& axes) {
  const std::vector<uint8_t> ggml = ggml_interleaved_axes(sections);
  std::string pairs;
  for (size_t pair = 0; pair < axes.size(); ++pair) {
    if (axes[pair] != ggml[pair]) pairs += (pairs.empty() ? "" : ", ") + std::to_string(pair);
  }
  if (pairs.empty()) return;
  notes_.remark("mrope_section", remarks::kLeftOverAxes, {pairs});
}

}  // namespace

std::vector<uint8_t> read_hf_axes(HfReading& reading, const HfKeys& keys, int64_t n_pairs,
                                  HfNotes& notes) {
  return AxesReader(reading, keys, n_pairs, notes).read();
}

}  // namespace ropewalk

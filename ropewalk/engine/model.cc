#include "ropewalk/engine/model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/config/hf_text_model.h"
#include "ropewalk/engine/arch/families.h"
#include "ropewalk/engine/open_tokenizer.h"
#include "ropewalk/engine/part_of_progress.h"
#include "ropewalk/engine/transformer.h"
#include "ropewalk/engine/vocabulary.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/safetensors.h"

namespace ropewalk {
namespace {

ModelFile open_gguf(const std::string& path) {
  ModelFile file;
  auto gguf = std::make_shared<GgufFile>(GgufFile::open_all(path));
  file.config = read_gguf_config(*gguf);
  file.keys = ModelKeys::of(*gguf);
  if (gguf->metadata().contains("tokenizer.ggml.model")) {
    std::promise<std::unique_ptr<const Tokenizer>> made;
    made.set_value(make_tokenizer(read_vocabulary(gguf->metadata())));
    file.tokenizer = made.get_future();
  }
  file.tensors = std::move(gguf);
  return file;
}

ModelFile open_directory(const std::filesystem::path& path) {
  const std::string place = (path / "config.json").string();
  ModelFile file;
  const nlohmann::ordered_json document = load_json(place);
  file.config = read_hf_config(document, place);
  const HfTextPart text = find_hf_text_part(document);
  file.keys = ModelKeys::of(*text.object, place, text.path);
  file.tensors = std::make_shared<Safetensors>(Safetensors::open(path.string()));
  if (text.among_others) file.text_part = find_text_part(*file.tensors);
  file.tokenizer = std::async(std::launch::deferred, [path] {
    return std::unique_ptr<const Tokenizer>(open_directory_tokenizer(path));
  });
  return file;
}

std::unique_ptr<Decoder> load_decoder(const ModelFile& file, Precision precision) {
  return make_transformer(describe_file(file), file.config, *file.tensors, precision,
                          file.holding.value_or(Holding::kPacked));
}

}  // namespace

Blueprint describe_file(const ModelFile& file) {
  Blueprint blueprint = describe_model(file.config, file.keys, file.tensors->name());
  if (file.text_part) move_names(*file.text_part, blueprint.names);
  return blueprint;
}

void check_ids(std::span<const int32_t> ids, int64_t vocabulary) {
  for (size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < 0 || ids[t] >= vocabulary) {
      throw Error("token " + std::to_string(t),
                  "must be an id from 0 to " + std::to_string(vocabulary - 1),
                  std::to_string(ids[t]));
    }
  }
}

const Tokenizer& tokenizer_of(const ModelFile& file) {
  std::string why = "it brings none (tokenizer.ggml.model)";
  if (file.tokenizer.valid()) {
    try {
      return *file.tokenizer.get();
    } catch (const Error& error) {
      why = error.what();
    }
  }
  throw Error(file.tensors->name(), "no tokenizer", why, "give token ids");
}

bool has_tokenizer(const ModelFile& file) {
  try {
    tokenizer_of(file);
  } catch (const Error&) {
    return false;
  }
  return true;
}

ModelFile open_model(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_directory(path, failed) ? open_directory(path) : open_gguf(path);
}

Model Model::load(const std::string& path, Precision precision) {
  return Model(open_model(path), precision);
}

Model::Model(ModelFile file, Precision precision)
    : file_(std::move(file)), decoder_(load_decoder(file_, precision)) {}

std::vector<double> Model::losses(std::span<const int32_t> ids, const Positions& positions,
                                  const Progress& progress) const {
  if (ids.size() < 2) throw Error("token ids", "must be at least two", std::to_string(ids.size()));
  check_ids(ids, decoder_->vocabulary());
  const auto n = static_cast<int64_t>(ids.size());
  const std::unique_ptr<KvCache> cache = decoder_->make_cache(n);
  std::vector<double> losses(ids.size() - 1);
  for (int64_t first = 0; first < n - 1; first += kPartRows) {
    const int64_t rows = std::min(kPartRows, n - 1 - first);
    const Pass pass{
        .ids = ids.subspan(static_cast<size_t>(first), static_cast<size_t>(rows)),
        .first_row = first,
        .length = n,
        .positions = &positions,
        .progress = part_of_progress(progress, static_cast<double>(first),
                                     static_cast<double>(rows), static_cast<double>(n - 1))};
    const AlignedBuffer<float> states = decoder_->forward(pass, *cache);
    decoder_->head().losses(
        states.data(), ids.subspan(static_cast<size_t>(first + 1)),
        std::span(losses).subspan(static_cast<size_t>(first), static_cast<size_t>(rows)));
  }
  for (size_t t = 0; t < losses.size(); ++t)
    require_finite(losses[t], "the loss of token", static_cast<int64_t>(t + 1));
  return losses;
}

void Model::observe(std::span<const int32_t> ids, const Positions& positions,
                    const LayerObserver& observer, const Progress& progress) const {
  if (ids.empty()) throw Error("token ids", "must be at least one", "none");
  check_ids(ids, decoder_->vocabulary());
  const auto n = static_cast<int64_t>(ids.size());
  const std::unique_ptr<KvCache> cache = decoder_->make_cache(n);
  decoder_->forward({.ids = ids,
                     .length = n,
                     .positions = &positions,
                     .progress = progress,
                     .observer = observer},
                    *cache);
}

Sequence::Sequence(const Model& model, const Positions& positions, int64_t capacity)
    : model_(model),
      positions_(positions),
      cache_(model.decoder().make_cache(capacity)),
      logits_(static_cast<size_t>(Dense::kFewRows * model.decoder().vocabulary())) {}

void Sequence::check_next(std::span<const int32_t> ids) const {
  check_ids(ids, model_.decoder().vocabulary());
  if (ids.empty()) throw Error("token ids", "must be at least one", "none");
  const size_t after = ids_.size() + ids.size();
  if (static_cast<int64_t>(after) > cache_->capacity()) {
    throw Error("sequence",
                "must fit its capacity of " + std::to_string(cache_->capacity()) + " tokens",
                std::to_string(after));
  }
}

std::span<const float> Sequence::append(std::span<const int32_t> ids) {
  check_next(ids);
  const auto before = static_cast<int64_t>(ids_.size());
  const int64_t after = before + static_cast<int64_t>(ids.size());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  const int64_t first = std::min(usable_, first_stale_row(positions_, before, after));
  const Pass pass{.ids = std::span<const int32_t>(ids_).subspan(static_cast<size_t>(first)),
                  .first_row = first,
                  .length = after,
                  .positions = &positions_};
  AlignedBuffer<float> states = model_.decoder().forward(pass, *cache_);
  usable_ = after;
  const OutputHead& head = model_.decoder().head();
  const int64_t last = after - first - 1;
  // The last row alone, at the head of a block of its own.
  std::copy_n(states.data() + last * head.hidden(), head.hidden(), states.data());
  head.logits_of_one(states.data(), logits_.data());
  for (int64_t id = 0; id < head.vocabulary(); ++id)
    require_finite(static_cast<double>(logits_[static_cast<size_t>(id)]), "the logit of id", id);
  return {logits_.data(), static_cast<size_t>(head.vocabulary())};
}

std::vector<double> Sequence::losses_of_next(std::span<const int32_t> ids) {
  check_next(ids);
  const auto before = static_cast<int64_t>(ids_.size());
  const int64_t after = before + static_cast<int64_t>(ids.size());
  const int64_t first = std::min({usable_, before - 1, first_stale_row(positions_, before, after)});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  const std::span<const int32_t> rows = std::span(ids_).subspan(static_cast<size_t>(first));
  const Pass pass{.ids = rows.first(rows.size() - 1),
                  .first_row = first,
                  .length = after,
                  .positions = &positions_};
  const AlignedBuffer<float> states = model_.decoder().forward(pass, *cache_);
  std::vector<double> losses(rows.size() - 1);
  model_.decoder().head().losses(states.data(), rows.subspan(1), losses);
  usable_ = after - 1;
  take_back(before);
  losses.erase(losses.begin(), losses.end() - std::ssize(ids));
  for (size_t t = 0; t < losses.size(); ++t)
    require_finite(losses[t], "the loss of token", before + static_cast<int64_t>(t));
  return losses;
}

void Sequence::take_back(int64_t kept) {
  const auto length = static_cast<int64_t>(ids_.size());
  // Rows that were computed for the longer sequence, where a shorter one has others.
  usable_ = std::min(usable_, first_stale_row(positions_, kept, length));
  ids_.resize(static_cast<size_t>(kept));
}

int32_t greedy_choice(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::vector<int32_t> greedy_answer(Sequence& sequence, std::span<const float> logits, int64_t count,
                                   const Progress& progress) {
  std::vector<int32_t> ids;
  for (int64_t n = 0; n < count; ++n) {
    if (progress) progress(static_cast<double>(n) / static_cast<double>(count));
    ids.push_back(greedy_choice(logits));
    if (n + 1 < count) logits = sequence.append({&ids.back(), 1});
  }
  return ids;
}

}  // namespace ropewalk

// Model: a file opened, its weights packed once, ready to be run under any positions.
#ifndef ROPEWALK_ENGINE_MODEL_H_
#define ROPEWALK_ENGINE_MODEL_H_

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/engine/blueprint.h"
#include "ropewalk/engine/decoder.h"
#include "ropewalk/engine/model_keys.h"
#include "ropewalk/engine/text_part.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// A model's description without its weights.
struct ModelFile {
  std::shared_ptr<const TensorSource> tensors;
  ModelConfig config;
  ModelKeys keys;
  // Nothing where the file holds a text model alone.
  std::optional<TextPart> text_part;
  // A directory's is read when it is first asked for: it may take seconds, and token ids do without.
  // Not valid where the file brings none; get() throws Error where it is not read.
  std::shared_future<std::unique_ptr<const Tokenizer>> tokenizer;
  // Of a decoder's matrices while it runs; nothing is said: packed, unless fit_memory() finds that
  // only streamed ones fit.
  std::optional<Holding> holding = {};

  bool streams() const { return holding == Holding::kStreamed; }
};

// The blueprint of a decoder, with the names that its tensors have in the file. Throws Error as
// describe_model() does.
Blueprint describe_file(const ModelFile& file);

// Throws Error where the file brings none that we read.
const Tokenizer& tokenizer_of(const ModelFile& file);
bool has_tokenizer(const ModelFile& file);

// Throws Error naming the first id that is not from 0 to vocabulary - 1.
void check_ids(std::span<const int32_t> ids, int64_t vocabulary);

// Opens a GGUF file, or a Hugging Face directory with config.json and safetensors. Throws Error.
ModelFile open_model(const std::string& path);

class Model {
 public:
  // Opens the file and packs its weights. Throws Error.
  static Model load(const std::string& path, Precision precision);
  explicit Model(ModelFile file, Precision precision);

  const ModelConfig& config() const { return file_.config; }
  const Decoder& decoder() const { return *decoder_; }

  bool has_tokenizer() const { return ropewalk::has_tokenizer(file_); }
  // Throws Error where the file brings no tokenizer.
  const Tokenizer& tokenizer() const { return tokenizer_of(file_); }

  // Rows of the largest pass of losses(): activations exist for one part of a sequence at a time. No
  // bit depends on it.
  static constexpr int64_t kPartRows = 32 * Dense::kBlockRows;

  // losses[t] = -ln p(ids[t + 1] | ids[0 .. t]) in nats, all in one pass: (ids.size() - 1). Nothing
  // is refused for being longer than the model was trained at.
  //   ids  at least two, each within the vocabulary; throws Error otherwise
  std::vector<double> losses(std::span<const int32_t> ids, const Positions& positions,
                             const Progress& progress = {}) const;

  // Runs the layers over all tokens in one pass and shows each to the observer.
  //   ids  at least one, each within the vocabulary; throws Error otherwise
  void observe(std::span<const int32_t> ids, const Positions& positions,
               const LayerObserver& observer, const Progress& progress = {}) const;

 private:
  ModelFile file_;
  std::unique_ptr<Decoder> decoder_;
};

// One sequence that grows: its cache, and the logits after its last token.
class Sequence {
 public:
  //   model, positions  must outlive it
  //   capacity          most tokens it may ever hold
  Sequence(const Model& model, const Positions& positions, int64_t capacity);

  // Adds tokens and returns the logits after the last: (vocabulary). What a length-dependent scheme
  // has made stale is computed anew, so equal tokens give equal logits whether they came at once or
  // one by one. Throws Error where the tokens do not fit or are not in the vocabulary.
  std::span<const float> append(std::span<const int32_t> ids);

  // What Model::losses() gives of `ids` behind the tokens so far, of which there must be one: in one
  // pass, and none of them is added. Throws Error as append() does.
  std::vector<double> losses_of_next(std::span<const int32_t> ids);

  // Forgets all but the first `kept` tokens, so that one reading of them may go on in several ways;
  // `kept` is at most as many as there are.
  void take_back(int64_t kept);

  const std::vector<int32_t>& ids() const { return ids_; }

 private:
  void check_next(std::span<const int32_t> ids) const;

  const Model& model_;
  const Positions& positions_;
  std::unique_ptr<KvCache> cache_;
  std::vector<int32_t> ids_;
  int64_t usable_ = 0;  // rows of the cache that hold for ids_
  AlignedBuffer<float> logits_;
};

// The token of the largest logit; of equal ones the first.
int32_t greedy_choice(std::span<const float> logits);

// The `count` likeliest tokens, one by one, behind what the sequence has; the last of them is not added to
// it.
//   logits    after its last token
//   progress  told before each token
std::vector<int32_t> greedy_answer(Sequence& sequence, std::span<const float> logits, int64_t count,
                                   const Progress& progress = {});

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_MODEL_H_

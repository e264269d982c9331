// Log-probabilities of token ids as llama.cpp computes them, by its C interface: what llama_cpp.mjs
// answers to "logprobs", for vocabularies whose every distribution would cost JavaScript 50 ms.
//
//   llama_scorer MODEL.gguf f16|f32 THREADS < WINDOWS > LOGPROBS
//
// The second argument is the type of the key and value cache. A line of WINDOWS is one window's
// ids; its line of LOGPROBS has ln p(id[t + 1] | id[0..t]). Made by scripts/peers.sh against the
// libraries that node-llama-cpp brings.
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kBatch = 512;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "llama_scorer: %s\n", what.c_str());
  std::exit(1);
}

std::vector<std::vector<llama_token>> read_windows() {
  std::vector<std::vector<llama_token>> windows;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream numbers(line);
    std::vector<llama_token> ids;
    for (llama_token id; numbers >> id;) ids.push_back(id);
    windows.push_back(ids);
  }
  return windows;
}

// ln softmax(logits)[id], in double.
double logprob(const float* logits, int n_vocab, llama_token id) {
  const float best = *std::max_element(logits, logits + n_vocab);
  double sum = 0;
  for (int v = 0; v < n_vocab; ++v) sum += std::exp(static_cast<double>(logits[v]) - best);
  return logits[id] - best - std::log(sum);
}

void score(llama_context* context, int n_vocab, const std::vector<llama_token>& ids) {
  llama_memory_clear(llama_get_memory(context), true);
  llama_batch batch = llama_batch_init(kBatch, 0, 1);
  for (size_t first = 0; first + 1 < ids.size(); first += kBatch) {
    batch.n_tokens = static_cast<int>(std::min<size_t>(kBatch, ids.size() - 1 - first));
    for (int t = 0; t < batch.n_tokens; ++t) {
      batch.token[t] = ids[first + t];
      batch.pos[t] = static_cast<llama_pos>(first) + t;
      batch.n_seq_id[t] = 1;
      batch.seq_id[t][0] = 0;
      batch.logits[t] = 1;
    }
    if (llama_decode(context, batch) != 0) fail("llama_decode failed");
    for (int t = 0; t < batch.n_tokens; ++t) {
      std::printf("%.9g ", logprob(llama_get_logits_ith(context, t), n_vocab, ids[first + t + 1]));
    }
  }
  std::printf("\n");
  std::fflush(stdout);
  llama_batch_free(batch);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("arguments: MODEL.gguf f16|f32 THREADS < WINDOWS");
  const std::string kv = argv[2];
  if (kv != "f16" && kv != "f32") fail("the cache's type must be f16 or f32, got " + kv);
  const std::vector<std::vector<llama_token>> windows = read_windows();
  size_t longest = 0;
  for (const auto& ids : windows) longest = std::max(longest, ids.size());

  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all_from_path(PEER_LIBRARIES);
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  llama_model* model = llama_model_load_from_file(argv[1], model_params);
  if (model == nullptr) fail("cannot load " + std::string(argv[1]));
  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  for (const auto& ids : windows) {
    for (const llama_token id : ids) {
      if (id < 0 || id >= n_vocab) fail("an id outside the vocabulary: " + std::to_string(id));
    }
  }

  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(longest);
  params.n_batch = kBatch;
  params.n_ubatch = kBatch;
  params.n_threads = params.n_threads_batch = std::atoi(argv[3]);
  params.type_k = params.type_v = kv == "f32" ? GGML_TYPE_F32 : GGML_TYPE_F16;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) fail("cannot make a context");
  for (size_t w = 0; w < windows.size(); ++w) {
    score(context, n_vocab, windows[w]);
    std::fprintf(stderr, "llama.cpp: %zu of %zu windows\n", w + 1, windows.size());
  }
  llama_free(context);
  llama_model_free(model);
}

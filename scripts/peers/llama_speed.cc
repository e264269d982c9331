// How fast llama.cpp is, by its C interface: one line of JSON for each repetition.
//
//   llama_speed MODEL.gguf PROMPT DECODED THREADS FLASH REPEATS
//
// PROMPT tokens are read in batches of 512 without asking for logits, then DECODED more one by one with them. FLASH is 0
// or 1. Prints {"prefill": seconds, "decode": seconds, "peak": KiB}.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "llama_peer.h"

namespace {

constexpr int kBatch = 512;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void decode(llama_context* context, llama_token* ids, int count) {
  if (llama_decode(context, llama_batch_get_one(ids, count)) != 0) fail("llama_decode failed");
  llama_synchronize(context);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) fail("arguments: MODEL.gguf PROMPT DECODED THREADS FLASH REPEATS");
  const int prompt = std::atoi(argv[2]), decoded = std::atoi(argv[3]), threads = std::atoi(argv[4]);
  llama_model* model = load_model(argv[1]);
  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));

  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(prompt + decoded + 8);
  params.n_batch = params.n_ubatch = kBatch;
  params.n_threads = params.n_threads_batch = threads;
  params.flash_attn_type =
      std::atoi(argv[5]) != 0 ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) fail("cannot make a context");

  for (int repeat = 0; repeat < std::atoi(argv[6]); ++repeat) {
    llama_memory_clear(llama_get_memory(context), true);
    std::vector<llama_token> ids(static_cast<size_t>(prompt));
    for (int t = 0; t < prompt; ++t)
      ids[static_cast<size_t>(t)] = 3 + (t * 7919 + repeat * 31) % (n_vocab - 3);
    auto start = std::chrono::steady_clock::now();
    for (int first = 0; first < prompt; first += kBatch)
      decode(context, ids.data() + first, std::min(kBatch, prompt - first));
    const double prefill = seconds_since(start);
    start = std::chrono::steady_clock::now();
    for (int t = 0; t < decoded; ++t) {
      llama_token id = 3 + t * 13 % (n_vocab - 3);
      decode(context, &id, 1);
    }
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::printf("{\"prefill\": %.6f, \"decode\": %.6f, \"peak\": %ld}\n", prefill,
                seconds_since(start), usage.ru_maxrss);
    std::fflush(stdout);
  }
  llama_free(context);
  llama_model_free(model);
}

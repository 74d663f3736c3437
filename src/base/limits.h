// SPDX-License-Identifier: Apache-2.0
// Every bound on outside input, in one place. Each has a test that hits it. The numbers come from
// what broke other engines; a bound that refuses a real file is raised here, with the file named.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::limits {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

// JSON, wherever it comes from.
inline constexpr size_t kJsonDepth = 64;
inline constexpr size_t kJsonNodes = 500'000;        // config-sized documents (DOM)
inline constexpr uint64_t kConfigBytes = 16 * kMiB;  // config.json, tokenizer_config.json, ...
inline constexpr uint64_t kTokenizerJsonBytes = 256 * kMiB;  // streamed, never a DOM

// Any container: a tensor's name, a metadata key.
inline constexpr uint64_t kTensorNameBytes = 65'535;

// GGUF.
inline constexpr uint64_t kGgufKeyValues = 65'536;
inline constexpr uint64_t kGgufStringBytes = 16 * kMiB;
inline constexpr uint64_t kGgufArrayElements = 16 * kMiB;
inline constexpr uint32_t kGgufDims = 4;
inline constexpr uint64_t kGgufTensors = 1'000'000;
inline constexpr uint32_t kGgufAlignmentMin = 8;
inline constexpr uint32_t kGgufAlignmentMax = 65'536;
inline constexpr uint32_t kGgufSplits = 10'000;

// safetensors.
inline constexpr uint64_t kSafetensorsHeaderBytes = 100'000'000;
inline constexpr size_t kSafetensorsDepth = 4;
inline constexpr size_t kSafetensorsDims = 8;
inline constexpr size_t kSafetensorsTensors = 262'144;  // in one file
inline constexpr size_t kSafetensorsMetadataEntries = 65'536;
inline constexpr uint64_t kSafetensorsMetadataBytes = 16 * kMiB;
inline constexpr size_t kSafetensorsShards = 10'000;
inline constexpr uint64_t kSafetensorsIndexBytes = 128 * kMiB;
inline constexpr size_t kSafetensorsIndexTensors = 500'000;  // the largest seen has 210,000

// Model hyper-parameters (config.json, GGUF metadata).
inline constexpr int64_t kLayers = 4'096;
inline constexpr int64_t kHidden = 1 << 20;
inline constexpr int64_t kHeads = 1 << 14;
inline constexpr int64_t kHeadsOfAllLayers = 1 << 16;  // plans list interleaved heads one by one
inline constexpr int64_t kHeadDim = 1 << 14;
inline constexpr int64_t kVocab = 1 << 24;
inline constexpr int64_t kContext = int64_t{1} << 32;
inline constexpr int64_t kExperts = 1 << 16;

// Tokenizers.
inline constexpr size_t kTokenBytes = 64 * kKiB;  // one vocabulary entry
inline constexpr size_t kAddedTokens = 1 << 17;
inline constexpr size_t kAddedTokensBytes = 4 * kMiB;  // all of them together
inline constexpr uint64_t kEncodedTextBytes = kGiB;    // one text, before and after normalization
inline constexpr size_t kPatternBytes = 64 * kKiB;     // one regular expression of a tokenizer
inline constexpr size_t kPipelineSteps = 64;  // normalizers, pre-tokenizers, decoders in a sequence
inline constexpr uint32_t kRegexMatchLimit = 10'000'000;
inline constexpr uint32_t kRegexDepthLimit = 100'000;

// Chat templates.
inline constexpr size_t kTemplateBytes = 256 * kKiB;
inline constexpr uint64_t kTemplateFuel = 1'000'000;
inline constexpr uint64_t kTemplateOutputBytes = 4 * kMiB;  // plus the size of the input
inline constexpr int64_t kTemplateRange = 100'000;
inline constexpr int kTemplateDepth = 64;

// Sampling parameters, as the engine takes them.
inline constexpr size_t kSamplingIds = 1 << 16;        // logit biases, stop ids
inline constexpr size_t kSamplingWords = 1'024;        // each is compared at every step
inline constexpr size_t kSamplingBreakers = 1 << 16;   // searched by bisection
inline constexpr size_t kSamplingSequenceTokens = 64;  // one word or breaker
inline constexpr int32_t kBeams = 64;

// Requests in OpenAI's form, over HTTP or as lines of a batch file.
inline constexpr uint64_t kRequestBytes = 4 * kMiB;  // one body, one line
inline constexpr int32_t kRequestAnswers = 8;        // n and best_of
inline constexpr size_t kRequestPrompts = 16;
inline constexpr size_t kRequestStrings = 16;  // stop, bad_words, sequence breakers
inline constexpr size_t kRequestStringBytes = 256;
inline constexpr size_t kRequestBiases = 1'024;
inline constexpr int32_t kRequestLogprobs = 20;
inline constexpr size_t kRequestMessages = 2'048;
inline constexpr size_t kRequestTools = 128;
inline constexpr size_t kRequestToolBytes = 64 * kKiB;
inline constexpr size_t kRequestToolsBytes = 512 * kKiB;
inline constexpr size_t kRequestWarnings = 16;    // unknown fields named; more are counted
inline constexpr size_t kRequestNameBytes = 512;  // model, user, custom_id, cache_salt ...
inline constexpr size_t kRequestMetadata = 16;    // pairs, as OpenAI

// HTTP, before anybody looks at a body. Times are in server/http_limits.h.
inline constexpr size_t kHttpHeaderBytes = 32 * kKiB;
inline constexpr size_t kHttpHeaderLine = 8 * kKiB;
inline constexpr size_t kHttpHeaders = 100;
inline constexpr size_t kHttpConnections = 4'096;
inline constexpr size_t kHttpSendBuffer = 256 * kKiB;  // one stream's, until its sequence rests
inline constexpr size_t kHttpBodyRate = kKiB;          // least bytes a second
inline constexpr size_t kHttpRequestIdBytes = 128;     // X-Request-Id
inline constexpr size_t kApiKeys = 10'000;
inline constexpr size_t kApiKeyLeastBytes = 8;
inline constexpr size_t kApiKeyBytes = 1'024;
inline constexpr size_t kApiKeyNameBytes = 64;

// Pages of the cache kept on disk (docs/formats/kv-page.md).
inline constexpr uint32_t kKvPageTokens = 4'096;  // in one page
inline constexpr uint32_t kKvPageGroups = 32;
inline constexpr uint32_t kKvPageLayoutBytes = 4'096;
inline constexpr uint64_t kKvPageBytes = kGiB;
inline constexpr size_t kKvPageFiles = 262'144;  // indexed of one directory

// Evaluation: texts, saved logits and task files.
inline constexpr int64_t kEvalTokens = int64_t{1} << 28;  // inputs of all windows together
inline constexpr size_t kTaskLineBytes = kMiB;            // one item of a task file
inline constexpr uint64_t kTaskFileBytes = kGiB;
inline constexpr size_t kTaskItems = 1'000'000;
inline constexpr size_t kTaskChoices = 64;       // of one question
inline constexpr size_t kTaskShots = 64;         // examples before a question
inline constexpr size_t kTaskInstructions = 64;  // of one prompt to follow

}  // namespace ingot::limits

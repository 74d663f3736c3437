// SPDX-License-Identifier: Apache-2.0
// The vocabulary inside a GGUF file (keys tokenizer.ggml.*): SentencePiece ("llama"), byte-level
// BPE
// ("gpt2"), WordPiece ("bert") and Unigram ("t5").
#pragma once

#include "base/status.h"
#include "formats/gguf.h"
#include "tokenizer/pipeline.h"

namespace ingot::tok {

Result<PipelineParts> read_gguf_vocabulary(const GgufMetadata& metadata);

}  // namespace ingot::tok

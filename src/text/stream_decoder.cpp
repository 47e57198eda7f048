// The work is Utf8Repair's; Tokenizer::decode uses the same one, so both agree on every sequence of ids.
#include "text/stream_decoder.hpp"

namespace redline::text {

std::string StreamDecoder::push(std::int32_t id) {
  std::string out;
  const std::string_view piece = tokenizer_->piece(id);  // also checks the id
  if (!(skip_special_ && tokenizer_->is_special(id))) repair_.push(piece, out);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  repair_.finish(out);
  return out;
}

}  // namespace redline::text

// Two inputs in one. A first byte '{' (or white space): the bytes are a tokenizer.json; it is refused with
// our Error, or it loads and then encodes. Anything else: text for a small tokenizer, where decoding gives
// back what NFC made of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/log.hpp"
#include "text/stop_strings.hpp"
#include "text/stream_decoder.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"
// A relative path, since the fuzz targets do not have tests/ in their include path.
#include "../text/tiny_tokenizer.hpp"

namespace {

using namespace redline;
using namespace redline::text;

void must(bool holds) {
  if (!holds) std::abort();
}

void round_trip(const Tokenizer& tokenizer, std::string_view bytes) {
  const std::string text = replace_invalid_utf8(bytes);
  must(!find_invalid_utf8(text));
  must(find_invalid_utf8(bytes).has_value() == (text != bytes));
  const std::vector<std::int32_t> plain = tokenizer.encode(text);
  const std::string decoded = tokenizer.decode(plain);
  must(tokenizer.encode(decoded) == plain);  // NFC is idempotent, and text is cut the same way again
  const std::vector<std::int32_t> parsed = tokenizer.encode(text, Specials::Parse);
  StreamDecoder decoder(tokenizer);
  std::string streamed;
  for (const std::int32_t id : parsed) streamed += decoder.push(id);
  streamed += decoder.finish();
  must(streamed == tokenizer.decode(parsed));
  const ByteRange all{0, text.size()};
  must(tokenizer.encode_around(text, {&all, 1}) == plain);
}

// The first bytes are stop strings (one byte of length each), the rest arrives byte by byte.
void stop(std::string_view bytes) {
  std::vector<std::string> stops;
  while (stops.size() < 3 && bytes.size() > 1) {
    const std::size_t length = 1 + static_cast<std::uint8_t>(bytes[0]) % 4;
    if (bytes.size() < 1 + length) break;
    stops.emplace_back(bytes.substr(1, length));
    bytes.remove_prefix(1 + length);
  }
  StopStrings at_once(stops), byte_by_byte(stops);
  std::string whole = at_once.push(bytes), pieces;
  whole += at_once.finish();
  for (std::size_t i = 0; i < bytes.size(); ++i) pieces += byte_by_byte.push(bytes.substr(i, 1));
  pieces += byte_by_byte.finish();
  must(whole == pieces && at_once.stopped_by() == byte_by_byte.stopped_by());
  must(at_once.stopped_by() || whole == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  log::set_level(log::Level::Off);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.empty() && (bytes[0] == '{' || bytes[0] == ' ' || bytes[0] == '\n')) {
    try {
      const Tokenizer tokenizer(read_tokenizer_json(bytes, "fuzz.json"));
      static_cast<void>(tokenizer.decode(tokenizer.encode("a <b> é\u0301 12\n", Specials::Parse)));
    } catch (const Error& error) {
      must(error.kind() == ErrorKind::BadCheckpoint || error.kind() == ErrorKind::Unsupported);
      must(std::string_view(error.what()).substr(0, 10) == "fuzz.json:");
    }
    return 0;
  }
  static const Tokenizer tokenizer(read_tokenizer_json(redline::test::TinyTokenizer{}.json(), "tiny.json"));
  round_trip(tokenizer, bytes);
  stop(bytes);
  return 0;
}

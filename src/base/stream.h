// Decompression in pieces, so that a file of any size needs only a window of memory. Used by file.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lightline {

using Sink = std::function<Status(std::string_view)>;

// One compressed format; `finish` reports data that ends too early.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Status feed(std::string_view input, const Sink& sink) = 0;
  virtual Status finish(const Sink& sink) = 0;
};

// Recognises .xz, .zst and .gz by their first bytes and decodes them; anything else passes through.
class StreamDecoder {
 public:
  Status feed(std::string_view input, const Sink& sink);
  Status finish(const Sink& sink);

 private:
  Status start(const Sink& sink);  // chooses the decoder by `head_`
  std::string head_;               // bytes held back until the format is known
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace lightline

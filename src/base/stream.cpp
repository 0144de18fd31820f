#include "base/stream.h"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <vector>

namespace lightline {
namespace {

constexpr std::string_view xz_magic(
    "\xFD"
    "7zXZ\0",
    6);
constexpr std::string_view zst_magic("\x28\xB5\x2F\xFD", 4);
constexpr std::string_view gz_magic("\x1F\x8B\x08", 3);
constexpr size_t chunk_size = size_t(1) << 18;
constexpr uint64_t xz_memory_limit = uint64_t(512) << 20;  // xz -9 needs 65 MiB
constexpr int zst_window_log_limit = 27;                   // 128 MiB, the limit of the zstd program

Error truncated(std::string_view format) {
  return {ErrorCode::parse, fmt::format("the {} data ends too early", format),
          "the file is incomplete: copy or download it again"};
}
Error corrupt(std::string_view format, std::string_view detail) {
  return {ErrorCode::parse, fmt::format("the {} data is corrupt: {}", format, detail),
          "the file is damaged: copy or download it again"};
}

class PlainDecoder : public Decoder {
 public:
  Status feed(std::string_view input, const Sink& sink) override { return input.empty() ? Status(Ok{}) : sink(input); }
  Status finish(const Sink&) override { return Ok{}; }
};

class XzDecoder : public Decoder {
 public:
  static Result<std::unique_ptr<Decoder>> create() {
    auto decoder = std::unique_ptr<XzDecoder>(new XzDecoder);
    if (lzma_stream_decoder(&decoder->stream_, xz_memory_limit, LZMA_CONCATENATED) != LZMA_OK)
      return out_of_memory("the decompressor");
    return std::unique_ptr<Decoder>(std::move(decoder));
  }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;
  ~XzDecoder() override { lzma_end(&stream_); }

  Status feed(std::string_view input, const Sink& sink) override {
    return input.empty() ? Status(Ok{}) : run(input, LZMA_RUN, sink);
  }
  Status finish(const Sink& sink) override { return run({}, LZMA_FINISH, sink); }

 private:
  XzDecoder() : output_(chunk_size) {}

  Status run(std::string_view input, lzma_action action, const Sink& sink) {
    stream_.next_in = reinterpret_cast<const uint8_t*>(input.data());
    stream_.avail_in = input.size();
    while (true) {
      stream_.next_out = output_.data();
      stream_.avail_out = output_.size();
      const lzma_ret code = lzma_code(&stream_, action);
      const size_t produced = output_.size() - stream_.avail_out;
      if (produced > 0) LL_DO(sink({reinterpret_cast<const char*>(output_.data()), produced}));
      if (code == LZMA_STREAM_END) return Ok{};
      if (code != LZMA_OK) return error_of(code);
      if (action == LZMA_RUN && stream_.avail_in == 0 && stream_.avail_out > 0) return Ok{};
    }
  }

  static Error error_of(lzma_ret code) {
    switch (code) {
      case LZMA_BUF_ERROR: return truncated(".xz");
      case LZMA_MEM_ERROR: return out_of_memory("the decompressor");
      case LZMA_MEMLIMIT_ERROR:
        return {ErrorCode::limit, "the .xz data needs more than 512 MiB to decompress",
                "compress it again with `xz -9` or less"};
      case LZMA_OPTIONS_ERROR:
        return {ErrorCode::unsupported, "the .xz data uses an unknown option", "compress it again with `xz`"};
      default: return corrupt(".xz", "it does not decode, its checksum is wrong, or other data follows");
    }
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::vector<uint8_t> output_;
};

class ZstDecoder : public Decoder {
 public:
  static Result<std::unique_ptr<Decoder>> create() {
    auto decoder = std::unique_ptr<ZstDecoder>(new ZstDecoder);
    if (!decoder->context_) return out_of_memory("the decompressor");
    ZSTD_DCtx_setParameter(decoder->context_.get(), ZSTD_d_windowLogMax, zst_window_log_limit);
    return std::unique_ptr<Decoder>(std::move(decoder));
  }

  Status feed(std::string_view input, const Sink& sink) override {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    bool pending = false;  // decoded bytes that did not fit the output
    while (in.pos < in.size || pending) {
      ZSTD_outBuffer out{output_.data(), output_.size(), 0};
      const size_t code = ZSTD_decompressStream(context_.get(), &out, &in);
      if (out.pos > 0) LL_DO(sink({output_.data(), out.pos}));
      if (ZSTD_isError(code)) return error_of(code);
      inside_frame_ = code != 0;
      pending = inside_frame_ && out.pos == out.size;
    }
    return Ok{};
  }

  Status finish(const Sink&) override { return inside_frame_ ? Status(truncated(".zst")) : Status(Ok{}); }

 private:
  ZstDecoder() : context_(ZSTD_createDCtx()), output_(chunk_size) {}

  static Error error_of(size_t code) {
    switch (ZSTD_getErrorCode(code)) {
      case ZSTD_error_frameParameter_windowTooLarge:
        return {ErrorCode::limit, "the .zst data needs a window of more than 128 MiB",
                "compress it again without `--long`"};
      case ZSTD_error_memory_allocation: return out_of_memory("the decompressor");
      case ZSTD_error_prefix_unknown: return corrupt(".zst", "something other than a frame follows a frame");
      case ZSTD_error_dictionary_wrong:
        return {ErrorCode::unsupported, "the .zst data needs a dictionary", "compress it again without a dictionary"};
      default: return corrupt(".zst", ZSTD_getErrorName(code));
    }
  }

  struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  std::vector<char> output_;
  bool inside_frame_ = true;
};

// Members may follow one another, as in the output of `cat a.gz b.gz`.
class GzDecoder : public Decoder {
 public:
  static Result<std::unique_ptr<Decoder>> create() {
    auto decoder = std::unique_ptr<GzDecoder>(new GzDecoder);
    if (inflateInit2(&decoder->stream_, 15 + 16) != Z_OK) return out_of_memory("the decompressor");
    return std::unique_ptr<Decoder>(std::move(decoder));
  }
  GzDecoder(const GzDecoder&) = delete;
  GzDecoder& operator=(const GzDecoder&) = delete;
  ~GzDecoder() override { inflateEnd(&stream_); }

  Status feed(std::string_view input, const Sink& sink) override {
    while (!input.empty()) {
      const size_t piece = std::min(input.size(), chunk_size);
      LL_DO(feed_piece(input.substr(0, piece), sink));
      input.remove_prefix(piece);
    }
    return Ok{};
  }
  Status finish(const Sink&) override { return inside_member_ ? Status(truncated(".gz")) : Status(Ok{}); }

 private:
  GzDecoder() : output_(chunk_size) {}

  Status feed_piece(std::string_view input, const Sink& sink) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = uInt(input.size());
    while (stream_.avail_in > 0 || stream_.avail_out == 0) {
      if (!inside_member_) {
        if (stream_.avail_in == 0) break;
        inflateReset(&stream_);
        inside_member_ = true;
      }
      stream_.next_out = output_.data();
      stream_.avail_out = uInt(output_.size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      const size_t produced = output_.size() - stream_.avail_out;
      if (produced > 0) LL_DO(sink({reinterpret_cast<const char*>(output_.data()), produced}));
      if (code == Z_MEM_ERROR) return out_of_memory("the decompressor");
      if (code == Z_BUF_ERROR) break;
      if (code != Z_OK && code != Z_STREAM_END)
        return corrupt(".gz", "it does not decode, its checksum is wrong, or other data follows");
      inside_member_ = code != Z_STREAM_END;
    }
    return Ok{};
  }

  z_stream stream_{};
  std::vector<Bytef> output_;
  bool inside_member_ = true;
};

}  // namespace

Status StreamDecoder::start(const Sink& sink) {
  const std::string_view head = head_;
  if (head.starts_with(xz_magic)) {
    LL_TRY(decoder_, XzDecoder::create());
  } else if (head.starts_with(zst_magic)) {
    LL_TRY(decoder_, ZstDecoder::create());
  } else if (head.starts_with(gz_magic)) {
    LL_TRY(decoder_, GzDecoder::create());
  } else {
    decoder_ = std::make_unique<PlainDecoder>();
  }
  return decoder_->feed(head, sink);
}

Status StreamDecoder::feed(std::string_view input, const Sink& sink) {
  if (decoder_) return decoder_->feed(input, sink);
  const size_t missing = std::min(input.size(), xz_magic.size() - head_.size());
  head_.append(input.substr(0, missing));
  if (head_.size() < xz_magic.size()) return Ok{};
  LL_DO(start(sink));
  return decoder_->feed(input.substr(missing), sink);
}

Status StreamDecoder::finish(const Sink& sink) {
  if (!decoder_) LL_DO(start(sink));
  return decoder_->finish(sink);
}

}  // namespace lightline

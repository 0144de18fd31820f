#include "loops/ir/parse.h"

#include "base/file.h"
#include "loops/ir/parser.h"
#include "loops/ir/source.h"
#include "loops/ir/verify.h"

namespace lightline::loops {

Result<Program> parse(std::string_view text, std::string_view file) {
  if (text.size() >= none)
    return Error{ErrorCode::limit, "the program text is larger than 4 GiB", "", {std::string(file)}};
  try {
    return Parser(text).run();
  } catch (const SyntaxError& error) {
    return Error{error.code, error.message, error.hint, place(text, file, error.position)};
  }
}

Result<Program> parse_and_verify(std::string_view text, std::string_view file) {
  LL_TRY(Program program, parse(text, file));
  LL_DO(verify(program, text, file));
  return program;
}

Result<Program> load(const std::string& path) {
  LL_TRY(const std::string text, read_program(path));
  return parse_and_verify(text, path);
}

}  // namespace lightline::loops

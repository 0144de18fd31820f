/* Loads liblightline.so as late as the loader allows and runs emitted C, which starts the C compiler. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "api/lightline.h"

int main(int count, char** arguments) {
  static const char text[] = "program p(x: f32[2]) -> (y) {\n  y: f32[2] = for i: x[i] + 1.0\n}\n";
  const float values[2] = {1, 2};
  const int64_t shape[1] = {2};
  const lightline_tensor x = {"x", "f32", 1, shape, values, sizeof values};
  lightline_program* program = NULL;
  lightline_outputs* outputs = NULL;
  char* error = NULL;
  lightline_status (*parse)(const char*, const char*, size_t, lightline_program**, char**) = NULL;
  lightline_status (*run)(const lightline_program*, const char*, const lightline_tensor*, size_t, lightline_outputs**,
                          char**) = NULL;
  void* library = count == 2 ? dlopen(arguments[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
  if (library == NULL) return 2;
  *(void**)&parse = dlsym(library, "lightline_parse");
  *(void**)&run = dlsym(library, "lightline_run");
  if (parse == NULL || run == NULL) return 2;
  if (parse("p", text, strlen(text), &program, &error) == LIGHTLINE_OK &&
      run(program, "{\"backend\": \"c\"}", &x, 1, &outputs, &error) == LIGHTLINE_OK)
    return 0;
  fprintf(stderr, "%s\n", error);
  return 1;
}

/* A C program that uses liblightline.so and nothing else of Lightline: prints the bound of a program in a file. */
#include <stdio.h>

#include "api/lightline.h"

int main(int count, char** arguments) {
  lightline_program* program = NULL;
  char *json = NULL, *error = NULL;
  lightline_status status = LIGHTLINE_BAD_INPUT;
  if (count != 2 || lightline_abi_version() != LIGHTLINE_ABI_VERSION) return 2;
  status = lightline_load(arguments[1], &program, &error);
  if (status == LIGHTLINE_OK) status = lightline_analyze(program, "{\"arch\": \"H200\"}", &json, &error);
  if (status == LIGHTLINE_OK) fputs(json, stdout);
  if (error != NULL) fprintf(stderr, "%s\n", error);
  lightline_free_text(json);
  lightline_free_text(error);
  lightline_free_program(program);
  return (int)status;
}

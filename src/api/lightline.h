/* Lightline as a C library: liblightline.so. No Python inside (lightline_validate alone starts one, as a process of its
 * own), no exceptions, nothing printed.
 *
 * Every function that can fail gives a lightline_status and, where `error` is not NULL and the status is not
 * LIGHTLINE_OK, a text in *error as the command prints it. Texts and handles belong to the caller: lightline_free_text
 * for texts, the function named after a handle for the handle. Strings are UTF-8. Handles never change, so that any
 * number of threads may use one. Where memory runs out the call fails, but for one place: within the libraries that
 * parse and write JSON and TOML (options, reports, machines) the process ends. */
#ifndef LIGHTLINE_H
#define LIGHTLINE_H

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(modernize-use-using): this is C */
#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a function changes or goes; a program checks that lightline_abi_version() gives what it was built for. */
#define LIGHTLINE_ABI_VERSION 1
int lightline_abi_version(void);
const char* lightline_version(void); /* "0.1.0"; not to be freed */

typedef enum lightline_status {
  LIGHTLINE_OK = 0,
  LIGHTLINE_NO = 1,        /* the work was done, and the answer is no: validate found a difference */
  LIGHTLINE_BAD_INPUT = 2, /* wrong usage, or an input that can not be used */
  LIGHTLINE_DEFECT = 3     /* a defect of Lightline */
} lightline_status;

void lightline_free_text(char* text);

/* ---- programs ---- */
typedef struct lightline_tensor {
  const char* name;  /* of the program's input or output */
  const char* dtype; /* "f32", "bf16", "i64", "bool", ... */
  int32_t rank;
  const int64_t* shape;
  const void* data; /* dense, row-major, little-endian */
  size_t bytes;
} lightline_tensor;

typedef struct lightline_program lightline_program;

/* Loops, an exported program (.pt2 or JSON), StableHLO text, or the folder of a GraphNet sample. */
lightline_status lightline_load(const char* path, lightline_program** program, char** error);
/* The same from memory; `name` is what errors call it. */
lightline_status lightline_parse(const char* name, const char* text, size_t size, lightline_program** program,
                                 char** error);
void lightline_free_program(lightline_program* program);

/* What lightline_run takes, in order: name, dtype and shape. The data is NULL unless the program carries it, as it does
 * that of its constants. Valid until the program is freed. */
size_t lightline_input_count(const lightline_program* program);
const lightline_tensor* lightline_input(const lightline_program* program, size_t which);

lightline_status lightline_loop_text(const lightline_program* program, char** text, char** error);
lightline_status lightline_c_text(const lightline_program* program, char** text, char** error);

/* ---- bounds ---- */
/* `options`: NULL, or a JSON object with members of the names that `lightline analyze` has as options: "arch", "math",
 * "retype", "clock", "ceilings", "algorithms", "values", "warm", "measured", "top", "explain", "demand". *json gets an
 * array with one document of schema lightline.analyze for each machine. */
lightline_status lightline_analyze(const lightline_program* program, const char* options, char** json, char** error);

/* ---- running ---- */
typedef struct lightline_outputs lightline_outputs;

/* `options`: NULL, or a JSON object with "backend" ("interp", the default, or "c") and "threads" (of emitted C; 0: all).
 * Inputs come by name, in any order; all must be there but those that the program carries, and no others. */
lightline_status lightline_run(const lightline_program* program, const char* options, const lightline_tensor* inputs,
                               size_t input_count, lightline_outputs** outputs, char** error);
size_t lightline_output_count(const lightline_outputs* outputs);
/* Valid until the outputs are freed. NULL where there is no such output. */
const lightline_tensor* lightline_output(const lightline_outputs* outputs, size_t which);
void lightline_free_outputs(lightline_outputs* outputs);

/* ---- validation ---- */
/* Runs a program of a framework here and there. `options`: NULL, or a JSON object with "form", "backend", "scale",
 * "seed", "workload", "backward". *json gets a document of schema lightline.validate, also with LIGHTLINE_NO; *error
 * then says in words what does not agree. */
lightline_status lightline_validate(const char* file, const char* options, char** json, char** error);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-use-using) */
#endif

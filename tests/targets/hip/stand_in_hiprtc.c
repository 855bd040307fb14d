/* A stand-in for ROCm's hiprtc: the same functions, which record what they are given and call clang.
 *
 * TILEWRIGHT_STAND_IN is a directory: the source goes to source.hip there, after the macros that
 * hiprtc's implicit header has, and the options to `options`, one a line. The size of a log is 0
 * until there is one. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
  char name[256];
};

static char path[4096];

static const char* in_directory(const char* name) {
  snprintf(path, sizeof path, "%s/%s", getenv("TILEWRIGHT_STAND_IN"), name);
  return path;
}

static size_t size_of(const char* name) {
  FILE* file = fopen(in_directory(name), "rb");
  if (!file) return 0;
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  fclose(file);
  return (size_t)size;
}

static int contents(const char* name, char* to) {
  const size_t size = size_of(name);
  FILE* file = fopen(in_directory(name), "rb");
  if (!file) return 7;
  const size_t found = fread(to, 1, size, file);
  fclose(file);
  return found == size ? 0 : 7;
}

const char* hiprtcGetErrorString(int status) {
  return status == 6 ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR_INVALID_PROGRAM";
}

int hiprtcVersion(int* major, int* minor) {
  *major = 9;
  *minor = 4;
  return 0;
}

int hiprtcCreateProgram(struct program** program, const char* source, const char* name, int headers,
                        const char** texts, const char** names) {
  if (headers != 0 || texts || names) return 5;
  *program = calloc(1, sizeof **program);
  snprintf((*program)->name, sizeof (*program)->name, "%s", name);
  FILE* file = fopen(in_directory("source.hip"), "wb");
  if (!file) return 4;
  fprintf(file,
          "#define __global__ __attribute__((global))\n#define __device__ __attribute__((device))\n"
          "#define __shared__ __attribute__((shared))\n#define __host__ __attribute__((host))\n"
          "#define __forceinline__ inline __attribute__((always_inline))\n# 1 \"%s\"\n%s",
          name, source);
  fclose(file);
  return 0;
}

int hiprtcCompileProgram(struct program* program, int count, const char** options) {
  char directory[4096], command[16384];
  snprintf(directory, sizeof directory, "%s", getenv("TILEWRIGHT_STAND_IN"));
  FILE* file = fopen(in_directory("options"), "wb");
  snprintf(command, sizeof command,
           "%s -x hip --offload-device-only -nogpulib -nogpuinc --no-gpu-bundle-output",
           getenv("TILEWRIGHT_CLANG"));
  for (int i = 0; i < count; ++i) {
    fprintf(file, "%s\n", options[i]);
    const size_t used = strlen(command);
    snprintf(command + used, sizeof command - used, " '%s'", options[i]);
  }
  fclose(file);
  const size_t used = strlen(command);
  snprintf(command + used, sizeof command - used, " %s/source.hip -o %s/code 2> %s/log", directory,
           directory, directory);
  return !program || system(command) ? 6 : 0;
}

int hiprtcGetProgramLogSize(struct program* program, size_t* size) {
  *size = size_of("log");
  return !program;
}
int hiprtcGetProgramLog(struct program* program, char* log) { return !program || contents("log", log); }
int hiprtcGetCodeSize(struct program* program, size_t* size) {
  *size = size_of("code");
  return !program;
}
int hiprtcGetCode(struct program* program, char* code) {
  return !program || contents("code", code);
}
int hiprtcDestroyProgram(struct program** program) {
  free(*program);
  *program = NULL;
  FILE* file = fopen(in_directory("destroyed"), "wb");
  fclose(file);
  return 0;
}

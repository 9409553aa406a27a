// Stand-ins for generated kernels, with the ABI of runtime/abi/KernelAbi.h and without
// libraries or relocations. The macros select objects that a loader must refuse.
typedef struct Batch {
  long long tokens;
} Batch;

#ifdef WITH_WRITABLE_DATA
static volatile int counter = 42;
#define TOUCH counter++
#elif defined(WITH_BSS)
static volatile char zeros[100000];
#define TOUCH zeros[(unsigned long long)batch % 7]++
#elif defined(WITH_RELOCATION)
static int one, two;
int *const volatile pointers[] = {&one, &two};
#define TOUCH (*pointers[batch->tokens & 1])
#elif defined(WITH_UNDEFINED)
int elsewhere(void);
#define TOUCH elsewhere()
#else
#define TOUCH (void)0
#endif

__attribute__((visibility("default"))) void copy_rows(void *const *args, const Batch *batch,
                                                      long long begin, long long end,
                                                      long long step, char *scratch,
                                                      long long ahead) {
  TOUCH;
  const float *in = args[0];
  float *out = args[1];
  for (long long i = begin; i < end; i += step)
    out[i] = 2 * in[i] + 1;
}

#ifndef WITHOUT_ATTEND
__attribute__((visibility("default"))) void attend(void *const *args, const Batch *batch,
                                                   long long begin, long long end, long long step,
                                                   char *scratch, long long ahead) {
  scratch[0] = (char)(end - begin);
}
#endif

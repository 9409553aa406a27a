/*===- FakeLibcuda.h - What a test sees of the fake driver -------------------===*/
#ifndef INGOT_FAKE_LIBCUDA_H
#define INGOT_FAKE_LIBCUDA_H

#include <stddef.h>

enum { FAKE_MOST_NAMES = 4096 };

/* What the fake driver writes into the 128 bytes of a tensor map. */
struct FakeTensorMap {
  unsigned long long base, columns, rows, rowBytes;
  unsigned elementBytes, boxColumns, boxRows, swizzle;
};

/* Found by dlsym(library, "fakeCuda"). Zero it to begin again; then set what differs. */
struct FakeCuda {
  /* The machine. */
  int version;                    /* 0: 13000 */
  int devices;                    /* 0: one; -1: none */
  int major, minor;               /* 0.0: 9.0 */
  size_t memory;                  /* 0: 1 GiB */
  size_t moduleBytes, graphBytes; /* of device memory that each takes; set before the first */
  const char *failCall;           /* "cuLaunchKernelEx": this call fails … */
  int failCode;                   /* … with this code … */
  int failAfter;                  /* … after so many that do not */

  /* What happened. */
  size_t taken, highest;   /* device memory */
  int allocations, pinned; /* not given back */
  int loads, unloads;
  int launches, overlapped; /* on the stream; with programmatic serialisation */
  int graphs, graphNodes, fullEdges, programmaticEdges, graphUploads, graphLaunches;
  int copiesToDevice, copiesToHost;
  int freedUnderCopies; /* page-locked memory given back while a copy read or wrote it */
  int torn; /* copies to the device whose source was written before they were waited for */
  size_t bytesToDevice, bytesToHost;
  int contexts, streams, events; /* not given back */
  int contextsSet;               /* calls of cuCtxSetCurrent that did it */
  int timedEvents;
  int tensorMaps;                     /* encoded */
  int ran;                            /* kernels, also in graphs */
  const char *names[FAKE_MOST_NAMES]; /* of the kernels that ran, in order */
  unsigned clusters[FAKE_MOST_NAMES]; /* the blocks of their clusters, */
  unsigned grids[FAKE_MOST_NAMES];    /* of their grids along x, */
  int carveouts[FAKE_MOST_NAMES];     /* and their carveouts; -1: the driver's choice */
};

#endif

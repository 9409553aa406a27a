/*===- FakeLibcuda.h - The fake driver's interface to tests ------------------===*/
#ifndef INGOT_FAKE_LIBCUDA_H
#define INGOT_FAKE_LIBCUDA_H

#include <stddef.h>

enum { FAKE_MOST_NAMES = 4096 };

/* The fake driver's contents of the 128 bytes of a tensor map. */
struct FakeTensorMap {
  unsigned long long base, columns, rows, rowBytes;
  unsigned elementBytes, boxColumns, boxRows, swizzle;
};

/* Obtained by dlsym(library, "fakeCuda"). Zero it to start afresh, then set the fields that differ. */
struct FakeCuda {
  /* The simulated machine. */
  int version;                    /* 0: 13000 */
  int devices;                    /* 0: one; -1: none */
  int major, minor;               /* 0.0: 9.0 */
  size_t memory;                  /* 0: 1 GiB */
  size_t moduleBytes, graphBytes; /* device memory of each; set before the first one */
  const char *failCall;           /* "cuLaunchKernelEx": this call fails … */
  int failCode;                   /* … with this code … */
  int failAfter;                  /* … after this many successes */

  /* The record. */
  size_t taken, highest;   /* device memory */
  int allocations, pinned; /* not freed */
  int loads, unloads;
  int launches, overlapped; /* on the stream; with programmatic serialisation */
  int graphs, graphNodes, fullEdges, programmaticEdges, graphUploads, graphLaunches;
  int copiesToDevice, copiesToHost;
  int freedUnderCopies; /* page-locked memory freed while a copy read or wrote it */
  int torn;             /* copies to the device whose source changed before they were waited for */
  size_t bytesToDevice, bytesToHost;
  int contexts, streams, events; /* not released */
  int contextsSet;               /* successful calls of cuCtxSetCurrent */
  int timedEvents;
  int tensorMaps;                     /* encoded */
  int ran;                            /* kernels, also in graphs */
  const char *names[FAKE_MOST_NAMES]; /* names of the kernels that ran, in order, */
  unsigned clusters[FAKE_MOST_NAMES]; /* the block counts of their clusters, */
  unsigned grids[FAKE_MOST_NAMES];    /* of their grids along x, */
  int carveouts[FAKE_MOST_NAMES];     /* and their carveouts; -1: the driver's choice */
};

#endif

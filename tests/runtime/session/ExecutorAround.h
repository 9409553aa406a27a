//===- ExecutorAround.h - Base class for executors with faults -------------===//
//
// Wraps the fake engine's executor, by SessionOptions::around, and forwards all calls. A test derives
// from it and overrides the calls that should behave differently.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Executor.h"

#include <memory>

namespace ingot::test {

class ExecutorAround : public runtime::Executor {
public:
  explicit ExecutorAround(std::unique_ptr<runtime::Executor> inner) : inner(std::move(inner)) {}

  Result<void> step(const BatchView &batch) override { return inner->step(batch); }
  bool draws(const RowSampling &row) const override { return inner->draws(row); }
  int64_t mostDrawnRows() const override { return inner->mostDrawnRows(); }
  bool runsAhead() const override { return inner->runsAhead(); }
  Result<void> beginSampled(const BatchView &batch) override { return inner->beginSampled(batch); }
  Result<std::span<const int32_t>> endSampled() override { return inner->endSampled(); }
  const float *logits() const override { return inner->logits(); }
  int64_t logitsStride() const override { return inner->logitsStride(); }
  const float *maxima() const override { return inner->maxima(); }
  int64_t maximaStride() const override { return inner->maximaStride(); }
  int64_t hiddenSize() const override { return inner->hiddenSize(); }
  void hiddenState(int64_t row, float *out) const override { inner->hiddenState(row, out); }
  bool prepareAhead() override { return inner->prepareAhead(); }
  bool takeKvMemory(std::span<const int64_t> pages) override { return inner->takeKvMemory(pages); }
  runtime::PageMover *pageMover() override { return inner->pageMover(); }
  const runtime::MemoryPlan &memory() const override { return inner->memory(); }
  const fb::Program &program() const override { return inner->program(); }
  const fb::Model &model() const override { return inner->model(); }
  std::string_view target() const override { return inner->target(); }
  std::string device() const override { return inner->device(); }
  std::string remark() const override { return inner->remark(); }
  int threads() const override { return inner->threads(); }
  void startTrace(bool keepEvents) override { inner->startTrace(keepEvents); }
  void stopTrace() override { inner->stopTrace(); }
  const runtime::Trace *trace() const override { return inner->trace(); }

protected:
  std::unique_ptr<runtime::Executor> inner;
};

} // namespace ingot::test

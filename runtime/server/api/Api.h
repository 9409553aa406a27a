//===- Api.h - The routes of a server --------------------------------------===//
//
//   transport --handle()--> GETs: answered at once
//                           POSTs: a place in the queue, or 429 -> reading threads -> engine's
//                           thread
//
// Reading a request (JSON, templates, tokenizing, compiling grammars) takes milliseconds, at worst
// seconds. Separate threads do it, and the server's thread only moves bytes. Excess requests are
// refused before they are read.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/RouteTable.h"
#include "runtime/server/observe/RouteCounts.h"
#include "runtime/service/WorkQueue.h"

namespace ingot::api {

struct ApiOptions {
  int readers = 2;                   ///< threads that read requests
  std::string version = "";          ///< version of this program
  observe::Observers observers = {}; ///< they receive the record of every request
  bool trace = false;                ///< gives every request a span, for an exporter
  bool keepBodies = false;           ///< keeps request bodies in the records
  /// Returns further metric families for /metrics in the exposition format. Called from any thread.
  std::function<std::string()> moreMetrics = {};
};

class Api {
public:
  /// `post` runs work on the server's thread. The models must dispatch their outputs to that thread
  /// too.
  Api(std::shared_ptr<service::ModelRegistry> models, ApiOptions options, Post post);

  /// Handles a request. http::Server calls this function.
  void handle(http::HttpRequest request, std::shared_ptr<http::Responder> responder);
  /// Reports a request that the transport refused to the observers. Runs on the server's thread.
  void refused(const http::RefusedRequest &request) const;
  /// /health answers 503 from now on.
  void setDraining() { draining = true; }

private:
  void get(const http::HttpRequest &request, http::Responder &responder);
  void health(http::Responder &responder);
  void metrics(const http::HttpRequest &request, http::Responder &responder);
  std::shared_ptr<observe::RequestRecord> record(const http::HttpRequest &request) const;

  std::shared_ptr<service::ModelRegistry> models;
  ApiOptions options;
  Post post;
  std::atomic<bool> draining = false;
  std::atomic<int> unplaced = 0; ///< requests under way without a place in the queue
  std::shared_ptr<observe::RouteCounts> counts = std::make_shared<observe::RouteCounts>();
  std::shared_ptr<const observe::Observers> observers; ///< the options' observers, and `counts`
  service::WorkQueue readers; ///< declared last: its threads use the other fields
};

} // namespace ingot::api

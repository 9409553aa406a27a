# Builds the page in a separate folder. The source tree is only read.
#
#   cmake -DSOURCE=web -DWORK=build/page -DNODE=… -DNPM=… [-DOUTPUT=PageAssets.cpp] [-DREQUIRED=ON] -P web/build.cmake
#
# Without OUTPUT, it only installs the packages that package-lock.json pins, so that the build itself needs no network.
# If the packages are unavailable and the page is not REQUIRED, OUTPUT has no page and records the reason.
cmake_minimum_required(VERSION 3.25)

file(MAKE_DIRECTORY ${WORK})
file(LOCK ${WORK}/lock TIMEOUT 300)
file(SHA256 ${SOURCE}/package-lock.json pinned)
set(installed "")
if(EXISTS ${WORK}/installed)
  file(READ ${WORK}/installed installed)
endif()
if(NOT installed STREQUAL pinned)
  file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json DESTINATION ${WORK})
  message(STATUS "npm ci: the page's packages, into ${WORK}")
  # Install scripts of packages do not run, because none of these packages needs them.
  execute_process(COMMAND ${NPM} ci --no-fund --no-audit --ignore-scripts --loglevel=error
                  WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE words TIMEOUT 600)
  if(NOT failed EQUAL 0)
    if(REQUIRED OR NOT OUTPUT)
      message(FATAL_ERROR "npm ci failed (${failed}):\n${words}")
    endif()
    message(WARNING "ingot is built without its page: npm ci failed (${failed})\n${words}")
    set(INGOT_PAGE_WHY "its packages could not be fetched: npm ci failed")
    configure_file(${CMAKE_CURRENT_LIST_DIR}/../runtime/service/page/NoAssets.cpp.in ${OUTPUT} @ONLY)
    return()
  endif()
  file(WRITE ${WORK}/installed ${pinned})
endif()
if(NOT OUTPUT)
  return()
endif()

# Remove files that the source no longer has, so that they are not checked.
file(REMOVE_RECURSE ${WORK}/src ${WORK}/dist)
file(COPY ${SOURCE}/src ${SOURCE}/index.html ${SOURCE}/live.html ${SOURCE}/tsconfig.json ${SOURCE}/vite.config.js
          ${SOURCE}/package.json DESTINATION ${WORK})
foreach(step "node_modules/typescript/bin/tsc;--noEmit" "node_modules/vite/bin/vite.js;build;--logLevel;warn"
             "${SOURCE}/embed.js;dist;${OUTPUT}")
  execute_process(COMMAND ${NODE} ${step} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed TIMEOUT 300)
  if(NOT failed EQUAL 0)
    message(FATAL_ERROR "the page does not build: ${step}")
  endif()
endforeach()

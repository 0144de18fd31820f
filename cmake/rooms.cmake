# A room is a folder under src/ with a library of its own. It sees the headers of the rooms named here and no others, so
# that a forbidden #include does not compile. One header of a room carries its charter.

# What nearly every file includes, parsed once. Two copies: a precompiled header serves one level of optimisation.
set(LIGHTLINE_COMMON_HEADERS <algorithm> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view>
  <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)
if(LIGHTLINE_QUICK_BUILD)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty.cpp CONTENT "")
  foreach(level O1 O2)
    add_library(lightline_common_${level} OBJECT ${PROJECT_BINARY_DIR}/empty.cpp)
    target_compile_options(lightline_common_${level} PRIVATE $<$<CONFIG:Release>:-${level}>)
    target_precompile_headers(lightline_common_${level} PRIVATE ${LIGHTLINE_COMMON_HEADERS})
  endforeach()
endif()

# lightline_quick(TARGET LEVEL): optimises by -LEVEL and takes the common headers precompiled, where there are such.
function(lightline_quick target level)
  target_compile_options(${target} PRIVATE -fPIC $<$<CONFIG:Release>:-${level}>)  # programs too: one precompiled header
  if(LIGHTLINE_QUICK_BUILD AND TARGET lightline_common_${level})
    target_precompile_headers(${target} REUSE_FROM lightline_common_${level})
  endif()
endfunction()

# lightline_room(FOLDER [USES rooms] [LIBRARIES libraries] [LEVEL O1|O2|O3] [BATCH files])
# LEVEL O1 is for rooms whose speed nobody notices, O3 for the parser. BATCH joins so many files into one translation unit.
function(lightline_room room)
  cmake_parse_arguments(ROOM "" "LEVEL;BATCH" "USES;LIBRARIES" ${ARGN})
  string(REPLACE / _ name ${room})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.cpp)
  add_library(lightline_${name} STATIC ${sources})
  set(tree ${PROJECT_BINARY_DIR}/include/${name})
  file(REMOVE_RECURSE ${tree})  # rooms that it may not use any longer
  foreach(visible ${room} ${ROOM_USES})
    get_filename_component(parent ${tree}/${visible} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${visible} ${tree}/${visible} SYMBOLIC)
  endforeach()
  target_include_directories(lightline_${name} PRIVATE ${tree})
  foreach(used ${ROOM_USES})
    string(REPLACE / _ used_name ${used})
    target_link_libraries(lightline_${name} PUBLIC lightline_${used_name})
  endforeach()
  target_link_libraries(lightline_${name} PUBLIC ${ROOM_LIBRARIES})
  if(NOT ROOM_LEVEL)
    set(ROOM_LEVEL O2)
  endif()
  lightline_quick(lightline_${name} ${ROOM_LEVEL})
  if(ROOM_BATCH AND LIGHTLINE_QUICK_BUILD)
    set_target_properties(lightline_${name} PROPERTIES UNITY_BUILD ON)
    set_target_properties(lightline_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE ${ROOM_BATCH})
  endif()
endfunction()

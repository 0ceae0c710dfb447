/* wavesmith pack: the table of its commands. */
#include "tools/wavesmith/pack.h"

#define TAKES_CONFIGS                                                                              \
    (WS_TAKES(arch) | WS_TAKES(set) | WS_TAKES(shape) | WS_TAKES(causal) | WS_TAKES(max_spills))
#define TAKES_FILTER (WS_TAKES(arch) | WS_TAKES(where))

static const struct ws_command commands[] = {
    {"pack build", "CONFIG...", "compile every point of the configs into one pack",
     "Each point, and the first of its alternatives that does not spill, is compiled by --jobs\n"
     "processes, or taken from the cache; with --verify it is held against the reference at a "
     "small\n"
     "problem of a fixed seed before it goes into the pack. What cannot be built is reported, the\n"
     "pack has the rest, and the exit code is 1. The same configs give the same file, byte for "
     "byte,\n"
     "for any number of jobs and whatever is in the cache. A build that was killed goes on where "
     "it\n"
     "stopped when it is run again: what it had compiled is in the cache.\n",
     TAKES_CONFIGS | WS_TAKES(output) | WS_TAKES(jobs) | WS_TAKES(verify) | WS_TAKES(seed) |
         WS_TAKES(device) | WS_TAKES(backend) | WS_TAKES(shard) | WS_TAKES(cache) |
         WS_TAKES(cache_size) | WS_TAKES(no_cache) | WS_TAKES(timeout) | WS_TAKES(json),
     ws_command_pack_build},
    {"pack merge", "PACK...", "put the variants of packs into one",
     "Equal variants are written once. Different ones of one spec and symbol are an error.\n",
     WS_TAKES(output) | WS_TAKES(json), ws_command_pack_merge},
    {"pack ls", "PACK", "list the variants", "", TAKES_FILTER | WS_TAKES(json), ws_command_pack_ls},
    {"pack show", "PACK VARIANT", "all that a pack says of a variant",
     "A variant is named by its symbol, or by the first digits of its spec_id, 4 or more. An\n"
     "operation and its main step share a spec_id, which is then the operation's name.\n",
     WS_TAKES(json), ws_command_pack_show},
    {"pack verify", "PACK", "check the digests of all rows and objects",
     "With --run every kernel is executed and held against the reference; steps are skipped and\n"
     "run with their operations. Exit code 1 if one fails, or if the file is no whole pack, one of "
     "a\n"
     "newer schema, or one of another digest.\n",
     TAKES_FILTER | WS_TAKES(digest) | WS_TAKES(run) | WS_TAKES(seed) | WS_TAKES(device) |
         WS_TAKES(jobs) | WS_TAKES(timeout) | WS_TAKES(json),
     ws_command_pack_verify},
    {"pack why", "PACK PROBLEM...", "every candidate for a problem, and why it lost",
     "A problem is sizes, B=2,Hq=4,Hk=2,Sq=200,Sk=333,D=128, and KEY=VALUE as of a config:\n"
     "arch=gfx942 dtype=bf16 mask=causal lse=false. Exit code 1 if no variant will do.\n",
     WS_TAKES(json), ws_command_pack_why},
    {"pack extract", "PACK VARIANT", "write a variant's code object",
     "Without -o the file is named after the kernel's symbol. Of an operation it is that of the\n"
     "main step.\n",
     WS_TAKES(output) | WS_TAKES(json), ws_command_pack_extract},
    {"pack diff", "PACK PACK", "what differs between two packs", "Exit code 1 if anything does.\n",
     WS_TAKES(json), ws_command_pack_diff},
    {"pack digest", "PACK", "print the digest", "", WS_TAKES(json), ws_command_pack_digest},
    {"pack gc", NULL, "shrink the cache to its limit and remove what killed builds left", "",
     WS_TAKES(cache) | WS_TAKES(cache_size) | WS_TAKES(json), ws_command_pack_gc},
    {"pack plan", "CONFIG...", "write a build.ninja that builds a pack in shards and merges them",
     "For ninja, or any remote execution that takes its files. --shards says how many.\n",
     TAKES_CONFIGS | WS_TAKES(ninja) | WS_TAKES(shards) | WS_TAKES(output) | WS_TAKES(verify) |
         WS_TAKES(seed) | WS_TAKES(backend),
     ws_command_pack_plan},
};

const struct ws_command_group ws_pack_group = {"pack ", commands,
                                               sizeof commands / sizeof commands[0]};

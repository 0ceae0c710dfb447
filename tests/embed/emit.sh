#!/usr/bin/env bash
# emit.sh FOLDER: the project emit, by find_package.
. "$(dirname "$0")/embed.sh"
build_project emit && run emit/emit "$emulator"
finish

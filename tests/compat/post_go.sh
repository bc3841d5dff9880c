#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# The Go example under vet and the race detector, against the built library.
#   post_go.sh SOURCE-FOLDER BUILD-FOLDER LIBRARY-FOLDER
set -euo pipefail
source=$1 build=$2 lib=$3

if ! command -v go >/dev/null; then
    echo "no go: skipped"
    exit 77
fi
export GOCACHE=$build/go-cache GOPATH=$build/go-path GOFLAGS=-mod=mod
export GOTOOLCHAIN=local CGO_ENABLED=1
export CGO_CFLAGS="-I$source/compat/libpost -I$source/include"
export CGO_LDFLAGS="-L$lib -Wl,-rpath,$lib"
export HF_VECTORS=$source/tests/vectors
cd "$source/examples/go/post"
[ -z "$(gofmt -l .)" ] || { echo "gofmt would change: $(gofmt -l .)"; exit 1; }
go vet ./...
go test -count=1 -race ./... || exit 1

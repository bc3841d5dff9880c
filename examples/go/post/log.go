// SPDX-License-Identifier: Apache-2.0 OR MIT

package post

// #include <post.h>
import "C"

import (
	"fmt"
	"sync"
)

var (
	logMu sync.Mutex
	logs  []string
)

// goPostLog runs on whichever thread logs, several at once.
//
//export goPostLog
func goPostLog(r *C.ExternCRecord) {
	text := C.GoStringN(r.message.ptr, C.int(r.message.len))
	module := C.GoStringN(r.module_path.ptr, C.int(r.module_path.len))
	logMu.Lock()
	defer logMu.Unlock()
	logs = append(logs, fmt.Sprintf("%d %s %s", int(r.level), module, text))
}

// Logged returns what the library has told so far.
func Logged() []string {
	logMu.Lock()
	defer logMu.Unlock()
	return append([]string(nil), logs...)
}

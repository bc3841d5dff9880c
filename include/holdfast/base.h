/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * holdfast/base.h: version, status codes, the error type.
 *
 * Ownership words used in every header of holdfast:
 *   borrows  the pointer is used until the call returns
 *   keeps    it is used until the named close
 *   fills    a buffer of the caller's, capacity given, size needed reported
 *   gives    the caller frees the result with the named function
 */
#ifndef HOLDFAST_BASE_H
#define HOLDFAST_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HF_API     __attribute__((visibility("default")))
#define HF_CHECKED __attribute__((warn_unused_result))
#else
#define HF_API
#define HF_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 1
#define HF_VERSION_PATCH 0
#define HF_VERSION       "0.1.0"

/*
 * The one list of status codes: name, number, what the caller can do.
 * Numbers are never reused.
 */
#define HF_STATUS_LIST(X)                                                      \
    X(HF_OK, 0, "success")                                                     \
    X(HF_E_ARGUMENT, 1, "an argument is wrong: correct the call")              \
    X(HF_E_STATE, 2,                                                           \
      "not possible in this state: data belong to another set, "               \
      "or a handle is closed")                                                 \
    X(HF_E_MEMORY, 3, "memory or the budget does not suffice: free some")      \
    X(HF_E_IO, 4, "reading or writing failed: see the operating system code")  \
    X(HF_E_FORMAT, 5, "data are not of the expected form: restore them")       \
    X(HF_E_UNSUPPORTED, 6, "this build, CPU or system cannot do it")           \
    X(HF_E_DEVICE, 7, "a device or provider failed: choose another")           \
    X(HF_E_CANCELLED, 8, "cancelled on request: start again to go on")         \
    X(HF_E_BUSY, 9, "no place now: try again later")                           \
    X(HF_E_INTERNAL, 10, "a fault in holdfast: please report it")              \
    X(HF_E_NOT_FOUND, 11, "searched to the end without a result")

typedef enum hf_status {
#define HF_STATUS_ENUM(name, number, text) name = number,
    HF_STATUS_LIST(HF_STATUS_ENUM)
#undef HF_STATUS_ENUM
} hf_status;

/*
 * What failed and why. Plain data: may be copied between threads and
 * languages, is never freed. Both texts are UTF-8, one line, terminated.
 */
typedef struct hf_error {
    hf_status code;    /* what the caller can do about it */
    int32_t os_code;   /* errno or driver code; 0 if none */
    char message[252]; /* what failed, in words of this call */
    char cause[252];   /* why: the layer below; "" if none */
} hf_error;            /* 512 bytes, frozen */

/* Version of the library in use, "major.minor.patch". Static. Any thread. */
HF_API const char *hf_version(void);

/* Name of a code ("HF_E_IO") and its text; never NULL. Static. Any thread. */
HF_API const char *hf_status_name(hf_status status);
HF_API const char *hf_status_text(hf_status status);

#ifdef __cplusplus
}
#endif

#endif

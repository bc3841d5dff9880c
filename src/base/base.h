/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Door of src/base, layer 0: the platform, and nothing about proofs. Errors,
 * log ring, memory, files, threads, time, randomness, CPU, JSON. The only
 * directory (with sched and backend) that makes system calls, the only one
 * that calls malloc or mmap.
 */
#ifndef HFI_BASE_BASE_H
#define HFI_BASE_BASE_H

#include <holdfast/base.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- errors ------------------------------------------------------------ */

#define HFI_PRINTF(f, a) __attribute__((format(printf, f, a)))

/*
 * Fill *err (if not NULL) and return `code`. Texts are cut to fit at a UTF-8
 * border, made one line, and always terminated. Nothing is allocated.
 */
hf_status hfi_error(hf_error *err, hf_status code, const char *fmt, ...)
    HFI_PRINTF(3, 4);
/* With an errno value: os_code is set, cause is its text (strerror_r). */
hf_status hfi_error_os(hf_error *err, hf_status code, int os_code,
                       const char *fmt, ...) HFI_PRINTF(4, 5);
/*
 * A layer adds what it was doing: the old message (and its cause, if both fit)
 * becomes the cause, the new text the message; code becomes `code`, os_code is
 * kept. Returns `code`.
 */
hf_status hfi_error_wrap(hf_error *err, hf_status code, const char *fmt, ...)
    HFI_PRINTF(3, 4);

/* HF_E_IO for most errno values, HF_E_MEMORY for ENOMEM. */
hf_status hfi_status_of_errno(int os_code);

/* ---- allocation -------------------------------------------------------- */

/* The allocator of a context; NULL members mean the C library's. */
typedef struct hfi_alloc {
    void *(*alloc)(void *user, size_t bytes);
    void (*release)(void *user, void *ptr);
    void *user;
} hfi_alloc;

typedef struct hfi_log hfi_log;

/* What every module needs from its context; passed down, never global. */
typedef struct hfi_env {
    hfi_alloc alloc;
    hfi_log *log; /* NULL: no log */
} hfi_env;

bool hfi_mul_size(size_t *out, size_t a, size_t b); /* false on overflow */
bool hfi_add_size(size_t *out, size_t a, size_t b);

/* Zeroed memory, count * size bytes; NULL if there is none or on overflow. */
void *hfi_calloc(const hfi_env *env, size_t count, size_t size);
/* Grows to new_count elements; contents kept; NULL leaves the old as it was. */
void *hfi_grow(const hfi_env *env, void *ptr, size_t old_count,
               size_t new_count, size_t size);
char *hfi_strdup(const hfi_env *env, const char *text);
void hfi_free(const hfi_env *env, void *ptr); /* NULL is fine */
/* Overwrites in a way the compiler keeps. */
void hfi_wipe(void *ptr, size_t bytes);

/*
 * Large scratch straight from the system, page aligned, zeroed, with huge
 * pages where the kernel gives them (alignment 2 MiB for 2 MiB and more).
 */
void *hfi_scratch_map(size_t bytes);
void hfi_scratch_unmap(void *ptr, size_t bytes); /* NULL is fine */

/*
 * Test hook for fault injection, NULL in production: called before every
 * allocation; returning false makes that allocation fail. Set it only while
 * no other thread is in the library.
 */
extern bool (*hfi_alloc_hook)(void *user, size_t bytes);
extern void *hfi_alloc_hook_user;

/* ---- log --------------------------------------------------------------- */

typedef enum hfi_log_level {
    HFI_LOG_OFF = 0,
    HFI_LOG_ERROR = 1,
    HFI_LOG_WARN = 2,
    HFI_LOG_INFO = 3,
    HFI_LOG_DEBUG = 4,
    HFI_LOG_TRACE = 5
} hfi_log_level;

#define HFI_LOG_TEXT 384u

typedef struct hfi_log_record {
    uint64_t time_ms; /* wall clock, milliseconds since 1970 */
    hfi_log_level level;
    uint32_t dropped; /* records lost just before this one */
    char module[16];
    char text[HFI_LOG_TEXT];
} hfi_log_record;

/*
 * A bounded ring, or a direct sink (called on whichever thread logs). When the
 * ring is full the newest record is dropped and counted. `on_record`, if not
 * NULL, is called after a record went into the ring (to wake a host); it must
 * not log.
 */
typedef struct hfi_log_opts {
    hfi_log_level level;
    uint32_t capacity; /* records in the ring; 0: 256 */
    void (*sink)(void *user, const hfi_log_record *record);
    void *sink_user;
    void (*on_record)(void *user);
    void *on_record_user;
} hfi_log_opts;

hf_status hfi_log_new(hfi_log **out, const hfi_alloc *alloc,
                      const hfi_log_opts *opts, hf_error *err);
void hfi_log_free(hfi_log *log);
bool hfi_log_on(const hfi_log *log, hfi_log_level level);
/* Text is formatted only if the level is on. `log` may be NULL. */
void hfi_logf(hfi_log *log, hfi_log_level level, const char *module,
              const char *fmt, ...) HFI_PRINTF(4, 5);
bool hfi_log_next(hfi_log *log, hfi_log_record *out); /* never blocks */

/* ---- threads, time, randomness ----------------------------------------- */

/* Wrappers that never fail on valid objects; layers above use only these. */
typedef struct hfi_mutex {
    pthread_mutex_t m;
} hfi_mutex;
typedef struct hfi_cond {
    pthread_cond_t c; /* on the monotonic clock */
} hfi_cond;

hf_status hfi_mutex_init(hfi_mutex *m, hf_error *err);
void hfi_mutex_destroy(hfi_mutex *m);
void hfi_lock(hfi_mutex *m);
void hfi_unlock(hfi_mutex *m);
hf_status hfi_cond_init(hfi_cond *c, hf_error *err);
void hfi_cond_destroy(hfi_cond *c);
void hfi_cond_wait(hfi_cond *c, hfi_mutex *m);
/* Waits at most timeout_ms; false on time-out. May wake early. */
bool hfi_cond_wait_ms(hfi_cond *c, hfi_mutex *m, uint64_t timeout_ms);
void hfi_cond_signal(hfi_cond *c);
void hfi_cond_broadcast(hfi_cond *c);

typedef struct hfi_thread {
    pthread_t t;
} hfi_thread;

/*
 * Starts a thread with a 1 MiB stack, all signals blocked, named `name` (15
 * characters at most), with the default floating-point environment. `batch`
 * asks for the batch scheduling class at the host's nice value; a refusal is
 * ignored. HF_E_MEMORY or HF_E_BUSY with the errno if it cannot be created.
 */
hf_status hfi_thread_start(hfi_thread *t, const char *name, bool batch,
                           void (*run)(void *arg), void *arg, hf_error *err);
void hfi_thread_join(hfi_thread *t);

uint64_t hfi_now_ns(void);  /* monotonic */
uint64_t hfi_wall_ms(void); /* since 1970 */
void hfi_sleep_ms(uint64_t ms);
uint64_t hfi_pid(void);
/* Fills from the system's generator; HF_E_IO if it fails. */
hf_status hfi_random(void *out, size_t bytes, hf_error *err);

/*
 * An event a host can wait on: a descriptor that is readable while set
 * (eventfd, else a pipe). Never 0, 1 or 2, close-on-exec.
 */
typedef struct hfi_event {
    int read_fd;
    int write_fd;
} hfi_event;
hf_status hfi_event_init(hfi_event *e, hf_error *err);
void hfi_event_destroy(hfi_event *e);
void hfi_event_set(hfi_event *e);   /* idempotent */
void hfi_event_clear(hfi_event *e); /* idempotent */

/* Floating-point environment of the calling thread: save, default, restore. */
typedef struct hfi_fenv {
    uint64_t opaque[8];
} hfi_fenv;
void hfi_fenv_enter(hfi_fenv *save); /* saves, then sets the default state */
void hfi_fenv_leave(const hfi_fenv *save);

/* ---- machine ----------------------------------------------------------- */

typedef enum hfi_cpu_feature {
    HFI_CPU_SSE2 = 1u << 0,
    HFI_CPU_SSSE3 = 1u << 1,
    HFI_CPU_SSE41 = 1u << 2,
    HFI_CPU_SSE42 = 1u << 3, /* with CRC32C */
    HFI_CPU_AES = 1u << 4,
    HFI_CPU_PCLMUL = 1u << 5,
    HFI_CPU_AVX = 1u << 6,
    HFI_CPU_AVX2 = 1u << 7,
    HFI_CPU_BMI2 = 1u << 8,
    HFI_CPU_ADX = 1u << 9,
    HFI_CPU_AVX512 = 1u << 10, /* F, DQ, BW, VL and CD */
    HFI_CPU_IFMA = 1u << 11,
    HFI_CPU_VBMI2 = 1u << 12,
    HFI_CPU_VAES = 1u << 13,
    HFI_CPU_VPCLMUL = 1u << 14,
    HFI_CPU_GFNI = 1u << 15,
    HFI_CPU_NEON = 1u << 16,
    HFI_CPU_ARM_AES = 1u << 17
} hfi_cpu_feature;

typedef struct hfi_cpu {
    uint32_t features; /* CPUID and XCR0 both allow it */
    char model[64];    /* "" if unknown */
} hfi_cpu;

void hfi_cpu_detect(hfi_cpu *out);
/* "avx2", ... of one feature bit; NULL if there is no such bit. */
const char *hfi_cpu_feature_name(uint32_t bit);

typedef struct hfi_machine {
    hfi_cpu cpu;
    uint32_t cpus_online;
    uint32_t cpus_affinity; /* of the calling thread */
    uint32_t cpus_quota;    /* cgroup quota rounded up; 0: none */
    uint32_t workers;       /* default: the smallest of these, >= 1 */
    uint64_t memory_total;
    uint64_t memory_available;
    uint64_t memory_limit;    /* cgroup limit; 0: none */
    uint64_t memory_budget;   /* default: half of the smaller */
    uint64_t huge_pages_free; /* explicit 2 MiB pages free, in bytes */
    bool transparent_huge;    /* madvise or always */
    const char *workers_from; /* "affinity", "cgroup quota", "online cpus" */
    const char *budget_from;  /* "cgroup limit", "available memory" */
} hfi_machine;

/* Reads /proc and /sys (cgroup v1 and v2); what is missing counts as none. */
void hfi_machine_detect(hfi_machine *out);

/* ---- files ------------------------------------------------------------- */

/*
 * Paths are bytes of the host's file system, UTF-8 as a rule; never changed.
 * All descriptors are close-on-exec and above 2. Errors carry the errno and
 * name the path.
 */
typedef struct hfi_file {
    int fd; /* -1: closed */
} hfi_file;

#define HFI_FILE_CLOSED ((hfi_file){-1})

typedef enum hfi_open_mode {
    HFI_OPEN_READ,       /* must exist */
    HFI_OPEN_READ_WRITE, /* must exist */
    HFI_OPEN_CREATE,     /* read and write, made if missing, mode 0600 */
    HFI_OPEN_CREATE_NEW  /* HF_E_IO with EEXIST if it exists */
} hfi_open_mode;

hf_status hfi_file_open(hfi_file *f, const char *path, hfi_open_mode mode,
                        hf_error *err);
/* Closes; reports a late write error of the file system. */
hf_status hfi_file_close(hfi_file *f, const char *path, hf_error *err);
/* Reads exactly `bytes` at `offset`; HF_E_FORMAT if the file is shorter. */
hf_status hfi_file_read_at(hfi_file *f, const char *path, uint64_t offset,
                           void *out, size_t bytes, hf_error *err);
/* Reads up to `bytes`; *got is less only at the end of the file. */
hf_status hfi_file_read_some(hfi_file *f, const char *path, uint64_t offset,
                             void *out, size_t bytes, size_t *got,
                             hf_error *err);
hf_status hfi_file_write_at(hfi_file *f, const char *path, uint64_t offset,
                            const void *data, size_t bytes, hf_error *err);
hf_status hfi_file_size(hfi_file *f, const char *path, uint64_t *bytes,
                        hf_error *err);
hf_status hfi_file_truncate(hfi_file *f, const char *path, uint64_t bytes,
                            hf_error *err);
/* fdatasync; file systems that do not know it are not an error. */
hf_status hfi_file_sync(hfi_file *f, const char *path, hf_error *err);
/* Advisory whole-file write lock. HF_E_BUSY: another process has it.
 * HF_E_UNSUPPORTED: the file system has no locks. Released by close. */
hf_status hfi_file_lock(hfi_file *f, const char *path, hf_error *err);
/*
 * Locks a folder against other callers of this function, waiting at most
 * timeout_ms; f->fd is not to be read. Released by close. HF_E_BUSY: still
 * held; HF_E_UNSUPPORTED: the file system has no such locks.
 */
hf_status hfi_dir_lock(hfi_file *f, const char *path, uint64_t timeout_ms,
                       hf_error *err);
/* Hints; never fail. */
void hfi_file_will_need(hfi_file *f, uint64_t offset, uint64_t bytes);
void hfi_file_dont_need(hfi_file *f, uint64_t offset, uint64_t bytes);

/*
 * Reads a whole file of at most `limit` bytes into *out (one terminating zero
 * byte added beyond *bytes); freed with hfi_free. HF_E_FORMAT if longer.
 */
hf_status hfi_file_load(const hfi_env *env, const char *path, size_t limit,
                        char **out, size_t *bytes, hf_error *err);
/*
 * Atomic replacement: temporary file in the same folder (".<name>.tmp"), write,
 * sync, rename, sync of the folder. On any failure the old file is untouched
 * and the temporary one is removed; but if the last step alone fails, the new
 * file stands and may not outlast a loss of power. Mode 0600.
 */
hf_status hfi_file_replace(const hfi_env *env, const char *path,
                           const void *data, size_t bytes, hf_error *err);
/* Syncs a folder so that new names in it last; unsupported is no error. */
hf_status hfi_dir_sync(const char *path, hf_error *err);
/* Makes the folder (mode 0700, parents too); existing is fine. */
hf_status hfi_dir_make(const hfi_env *env, const char *path, hf_error *err);

typedef enum hfi_path_kind {
    HFI_PATH_NONE,
    HFI_PATH_FILE,
    HFI_PATH_DIR,
    HFI_PATH_OTHER
} hfi_path_kind;
/*
 * Follows links. NONE only if nothing is there, not even a link to nothing (a
 * disk that is not mounted), which is OTHER; other failures are errors.
 */
hf_status hfi_path_stat(const char *path, hfi_path_kind *kind, uint64_t *bytes,
                        hf_error *err);
hf_status hfi_path_free_space(const char *path, uint64_t *bytes, hf_error *err);
/* "<dir>/<name>"; freed with hfi_free; NULL without memory. */
char *hfi_path_join(const hfi_env *env, const char *dir, const char *name);
/* Calls `each` for every entry but "." and ".."; stops when it says false. */
hf_status hfi_dir_each(const char *path,
                       bool (*each)(void *user, const char *name), void *user,
                       hf_error *err);
hf_status hfi_file_remove(const char *path, hf_error *err);
/* Name of this host for lock records; "unknown" if there is none. */
void hfi_host_name(char *out, size_t bytes);
/* Start time of a process in clock ticks since boot; 0 if it is not there. */
uint64_t hfi_process_start(uint64_t pid);

/* ---- bounded cursors, hex, base64 -------------------------------------- */

typedef struct hfi_cursor {
    const uint8_t *data;
    size_t bytes;
    size_t at;
    bool failed; /* a read went past the end; all later reads give 0 */
} hfi_cursor;
void hfi_cursor_init(hfi_cursor *c, const void *data, size_t bytes);
uint8_t hfi_cursor_u8(hfi_cursor *c);
uint32_t hfi_cursor_u32(hfi_cursor *c); /* little-endian, as all below */
uint64_t hfi_cursor_u64(hfi_cursor *c);
const uint8_t *hfi_cursor_bytes(hfi_cursor *c, size_t bytes); /* NULL: past */

static inline uint32_t hfi_load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline uint64_t hfi_load_u64(const uint8_t *p)
{
    return (uint64_t)hfi_load_u32(p) | (uint64_t)hfi_load_u32(p + 4) << 32;
}

static inline void hfi_store_u32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

static inline void hfi_store_u64(uint8_t *p, uint64_t v)
{
    hfi_store_u32(p, (uint32_t)v);
    hfi_store_u32(p + 4, (uint32_t)(v >> 32));
}

/* Lower-case hex, terminated; out has 2 * bytes + 1. */
void hfi_hex_encode(char *out, const void *data, size_t bytes);
/* Exactly `bytes` from 2 * bytes digits, either case; false otherwise. */
bool hfi_hex_decode(void *out, size_t bytes, const char *text, size_t length);
/* Padded standard alphabet; out has 4 * ((bytes + 2) / 3) + 1. */
void hfi_base64_encode(char *out, const void *data, size_t bytes);
/* Exactly `bytes`, strict padding; false otherwise. */
bool hfi_base64_decode(void *out, size_t bytes, const char *text,
                       size_t length);

/* ---- JSON -------------------------------------------------------------- */

/*
 * A strict reader: UTF-8, numbers kept as text, no duplicate keys, depth at
 * most 64, nothing after the value. A tree of nodes in one arena.
 */
typedef enum hfi_json_type {
    HFI_JSON_NULL,
    HFI_JSON_BOOL,
    HFI_JSON_NUMBER, /* text */
    HFI_JSON_STRING, /* text, unescaped */
    HFI_JSON_ARRAY,
    HFI_JSON_OBJECT
} hfi_json_type;

typedef struct hfi_json hfi_json;
struct hfi_json {
    hfi_json_type type;
    bool truth;
    const char *key;  /* of a member, terminated; NULL in arrays */
    const char *text; /* number or string, terminated; may hold no zero byte */
    size_t length;
    const hfi_json *child; /* first element or member */
    const hfi_json *next;  /* sibling */
    size_t count;          /* of children */
};

typedef struct hfi_json_doc hfi_json_doc;

/* `what` names the text in errors (a path). *root is owned by *doc. */
hf_status hfi_json_parse(hfi_json_doc **doc, const hfi_json **root,
                         const hfi_env *env, const char *what, const char *text,
                         size_t bytes, hf_error *err);
void hfi_json_free(hfi_json_doc *doc); /* NULL is fine */
const hfi_json *hfi_json_member(const hfi_json *object, const char *key);
/* Whole non-negative number that fits; false otherwise (or node NULL). */
bool hfi_json_u64(const hfi_json *node, uint64_t *out);
bool hfi_json_u32(const hfi_json *node, uint32_t *out);

/*
 * A growing text. Once an append fails (no memory), `failed` stays set and all
 * later appends do nothing: one check at the end suffices.
 */
typedef struct hfi_text {
    const hfi_env *env;
    char *data; /* terminated; NULL if empty */
    size_t bytes;
    size_t capacity;
    bool failed;
} hfi_text;
void hfi_text_init(hfi_text *t, const hfi_env *env);
void hfi_text_free(hfi_text *t);
void hfi_text_add(hfi_text *t, const char *text);
void hfi_text_addf(hfi_text *t, const char *fmt, ...) HFI_PRINTF(2, 3);
/* A JSON string with quotes and escapes; invalid UTF-8 becomes U+FFFD. */
void hfi_text_add_json(hfi_text *t, const char *text);

#endif

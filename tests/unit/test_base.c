/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * src/base without files and threads: errors, memory, cursors, texts, log.
 */
#include "base/internal.h"
#include "support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- errors ------------------------------------------------------------ */

static void test_status(void **state)
{
    (void)state;
    assert_string_equal(hf_version(), HF_VERSION);
    assert_string_equal(hf_status_name(HF_OK), "HF_OK");
    assert_string_equal(hf_status_name(HF_E_IO), "HF_E_IO");
    assert_string_equal(hf_status_name((hf_status)11), "HF_E_NOT_FOUND");
    assert_string_equal(hf_status_name((hf_status)999), "HF_E_UNKNOWN");
    for (int i = -1; i < 20; i++) {
        assert_non_null(hf_status_name((hf_status)i));
        assert_true(strlen(hf_status_text((hf_status)i)) > 5);
    }
    assert_string_equal(hf_status_text(HF_E_BUSY),
                        "no place now: try again later");
    assert_int_equal(sizeof(hf_error), 512);
}

static void test_error(void **state)
{
    (void)state;
    hf_error err;
    memset(&err, 0x55, sizeof err);
    assert_int_equal(hfi_error(&err, HF_E_FORMAT, "%s has %d", "x", 7),
                     HF_E_FORMAT);
    assert_int_equal(err.code, HF_E_FORMAT);
    assert_int_equal(err.os_code, 0);
    assert_string_equal(err.message, "x has 7");
    assert_string_equal(err.cause, "");
    assert_int_equal(hfi_error(NULL, HF_E_STATE, "x"), HF_E_STATE);
    assert_int_equal(hfi_error_os(NULL, HF_E_IO, EIO, "x"), HF_E_IO);
    assert_int_equal(hfi_error_wrap(NULL, HF_E_IO, "x"), HF_E_IO);

    assert_int_equal(
        hfi_error_os(&err, HF_E_IO, ENOSPC, "cannot write %s", "f"), HF_E_IO);
    assert_int_equal(err.os_code, ENOSPC);
    assert_string_equal(err.message, "cannot write f");
    assert_string_equal(err.cause, "No space left on device");
    /* A number without a name has a text too. */
    (void)hfi_error_os(&err, HF_E_IO, 99999, "x");
    assert_non_null(strstr(err.cause, "99999"));

    assert_int_equal(hfi_status_of_errno(ENOMEM), HF_E_MEMORY);
    assert_int_equal(hfi_status_of_errno(ENOSPC), HF_E_IO);
    assert_int_equal(hfi_status_of_errno(EMFILE), HF_E_IO);
}

static void test_error_wrap(void **state)
{
    (void)state;
    hf_error err;
    char longest[400];
    (void)hfi_error_os(&err, HF_E_IO, EIO, "cannot read f");
    assert_int_equal(hfi_error_wrap(&err, HF_E_FORMAT, "no key %d", 3),
                     HF_E_FORMAT);
    assert_int_equal(err.code, HF_E_FORMAT);
    assert_int_equal(err.os_code, EIO);
    assert_string_equal(err.message, "no key 3");
    assert_string_equal(err.cause, "cannot read f: Input/output error");
    /* An argument may be the error's own text. */
    (void)hfi_error_wrap(&err, HF_E_IO, "again: %s", err.message);
    assert_string_equal(err.message, "again: no key 3");
    assert_string_equal(err.cause,
                        "no key 3: cannot read f: Input/output error");
    /* A cause that does not fit beside the message is left out. */
    memset(longest, 'm', sizeof longest);
    longest[240] = '\0';
    (void)hfi_error_os(&err, HF_E_IO, EIO, "%s", longest);
    (void)hfi_error_wrap(&err, HF_E_IO, "outer");
    assert_string_equal(err.cause, longest);
    assert_string_equal(err.message, "outer");
}

static void test_error_cut(void **state)
{
    (void)state;
    hf_error err;
    char text[2048];
    /* Exactly full, and one more; then cut inside a character. */
    memset(text, 'a', sizeof text);
    text[251] = '\0';
    (void)hfi_error(&err, HF_E_IO, "%s", text);
    assert_string_equal(err.message, text);
    text[251] = 'a';
    text[252] = '\0';
    (void)hfi_error(&err, HF_E_IO, "%s", text);
    assert_int_equal(strlen(err.message), 251);
    assert_string_equal(err.message + 248, "...");

    for (size_t shift = 0; shift < 4; shift++) {
        size_t n = shift;
        memset(text, 'x', shift);
        while (n + 4 < 1020) {
            memcpy(text + n, "\xf0\x9f\x98\x80", 4);
            n += 4;
        }
        text[n] = '\0';
        (void)hfi_error(&err, HF_E_IO, "%s", text);
        size_t length = strlen(err.message);
        assert_true(length >= 247 && length < sizeof err.message);
        assert_string_equal(err.message + length - 3, "...");
        for (size_t i = 0; i < length;) {
            size_t one = hfi_utf8_length((uint8_t *)err.message + i,
                                         length - i);
            assert_true(one > 0);
            i += one;
        }
    }
}

static void test_error_one_line(void **state)
{
    (void)state;
    hf_error err;
    (void)hfi_error(&err, HF_E_IO, "%s",
                    "a\nb\tc\rd\x1b[31m\x7f|\xff|\xc0\xaf|\xc2\x85|"
                    "\xe2\x80\xa8|\xed\xa0\x80|\xc3\xa9|\xe2\x82");
    assert_string_equal(err.message, "a b c d?[31m?|?|??|?|?|???|\xc3\xa9|??");
}

static void test_utf8(void **state)
{
    (void)state;
    /* The well-formed table of the Unicode standard (3.9, table 3-7). */
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"\x7f", 1},
        {"\x80", 0},
        {"\xc1\xbf", 0},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xdf\xc0", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xed\xa0\x80", 0},
        {"\xee\x80\x80", 3},
        {"\xef\xbf\xbf", 3},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *p = (const uint8_t *)cases[i].bytes;
        size_t n = strlen(cases[i].bytes);
        assert_int_equal(hfi_utf8_length(p, n), cases[i].length);
        for (size_t cut = 0; cut < n; cut++)
            assert_int_equal(hfi_utf8_length(p, cut), 0);
    }
}

/* ---- memory ------------------------------------------------------------ */

static void test_sizes(void **state)
{
    (void)state;
    size_t v = 5;
    assert_true(hfi_mul_size(&v, SIZE_MAX / 3, 3));
    assert_false(hfi_mul_size(&v, SIZE_MAX / 3 + 1, 3));
    assert_true(hfi_add_size(&v, SIZE_MAX - 1, 1));
    assert_true(v == SIZE_MAX);
    assert_false(hfi_add_size(&v, SIZE_MAX, 1));
}

static void test_alloc(void **state)
{
    (void)state;
    struct test_env t;
    test_env_init(&t);
    const hfi_env plain = {.log = NULL};
    const hfi_env *envs[] = {NULL, &plain, &t.env};
    for (size_t e = 0; e < 3; e++) {
        uint32_t *p = hfi_calloc(envs[e], 100, 4);
        assert_non_null(p);
        for (uint32_t i = 0; i < 100; i++) {
            assert_int_equal(p[i], 0);
            p[i] = i;
        }
        p = hfi_grow(envs[e], p, 100, 200, 4);
        assert_non_null(p);
        for (uint32_t i = 0; i < 200; i++)
            assert_int_equal(p[i], i < 100 ? i : 0);
        assert_null(hfi_grow(envs[e], p, 200, SIZE_MAX / 2, 4));
        assert_int_equal(p[99], 99);
        p = hfi_grow(envs[e], p, 200, 50, 4);
        assert_int_equal(p[49], 49);
        hfi_free(envs[e], p);
        void *nothing = hfi_calloc(envs[e], 0, 8);
        assert_non_null(nothing);
        hfi_free(envs[e], nothing);
        hfi_free(envs[e], NULL);
        assert_null(hfi_calloc(envs[e], SIZE_MAX / 2, 3));
        assert_null(hfi_calloc(envs[e], SIZE_MAX, 1));
        char *copy = hfi_strdup(envs[e], "text");
        assert_string_equal(copy, "text");
        hfi_free(envs[e], copy);
    }
    test_env_done(&t);
}

static void test_alloc_hook(void **state)
{
    (void)state;
    struct test_env t;
    test_env_init(&t);
    alloc_fail_start(2);
    char *first = hfi_strdup(&t.env, "a");
    char *second = hfi_strdup(&t.env, "b");
    char *third = hfi_strdup(&t.env, "c");
    assert_true(alloc_fail_end());
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    alloc_fail_start(1);
    assert_null(hfi_grow(&t.env, first, 2, 4, 1));
    assert_string_equal(first, "a");
    alloc_fail_start(1);
    assert_null(hfi_scratch_map(4096));
    alloc_fail_start(1);
    assert_null(hfi_scratch_map((size_t)8 << 20));
    (void)alloc_fail_end();
    hfi_free(&t.env, first);
    hfi_free(&t.env, third);
    test_env_done(&t);
}

static void test_scratch(void **state)
{
    (void)state;
    const size_t huge = (size_t)2 << 20;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t sizes[] = {1,        page,         page + 1,   huge - page,
                            huge - 1, huge,         huge + 1,   3 * huge,
                            0,        5 * huge + 7, huge + page};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *p = hfi_scratch_map(sizes[i]);
        assert_non_null(p);
        size_t whole = (sizes[i] + page - 1) / page * page;
        assert_int_equal((uintptr_t)p % (whole >= huge ? huge : page), 0);
        for (size_t at = 0; at < sizes[i]; at += 1021) {
            assert_int_equal(p[at], 0);
            p[at] = 1;
        }
        hfi_scratch_unmap(p, sizes[i]);
    }
    hfi_scratch_unmap(NULL, 77);
    assert_null(hfi_scratch_map(SIZE_MAX));
    assert_null(hfi_scratch_map(SIZE_MAX - 4 * huge));
}

static size_t mapped_kib(void)
{
    unsigned long kib = 0;
    char *text = temp_read("/proc/self/status", NULL);
    const char *line = strstr(text, "VmSize:");
    if (line != NULL)
        (void)sscanf(line, "VmSize: %lu", &kib);
    free(text);
    return kib;
}

/* What was mapped too much for the alignment is given back, at both ends. */
static void test_scratch_leaks_nothing(void **state)
{
    (void)state;
    size_t before = mapped_kib();
    if (before == 0)
        skip();
    for (int i = 0; i < 64; i++) {
        void *p = hfi_scratch_map(((size_t)4 << 20) + 4096);
        assert_non_null(p);
        if (i == 0)
            assert_in_range(mapped_kib() - before, 4096, 4096 + 1024);
        hfi_scratch_unmap(p, ((size_t)4 << 20) + 4096);
    }
    assert_in_range(mapped_kib(), 0, before + 1024);
}

static void test_wipe(void **state)
{
    (void)state;
    uint8_t secret[64];
    memset(secret, 7, sizeof secret);
    hfi_wipe(secret + 1, 62);
    for (size_t i = 1; i < 63; i++)
        assert_int_equal(secret[i], 0);
    assert_int_equal(secret[0], 7);
    assert_int_equal(secret[63], 7);
    hfi_wipe(NULL, 0);
}

/* ---- cursors, hex, base64 ---------------------------------------------- */

static void test_cursor(void **state)
{
    (void)state;
    uint8_t data[17];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i + 1);
    hfi_cursor c;
    hfi_cursor_init(&c, data, sizeof data);
    assert_int_equal(hfi_cursor_u8(&c), 1);
    assert_int_equal(hfi_cursor_u32(&c), 0x05040302);
    assert_true(hfi_cursor_u64(&c) == UINT64_C(0x0d0c0b0a09080706));
    assert_ptr_equal(hfi_cursor_bytes(&c, 3), data + 13);
    assert_int_equal(c.at, 16);
    assert_false(c.failed);
    assert_int_equal(hfi_cursor_u32(&c), 0);
    assert_true(c.failed);
    /* One byte is left, yet all later reads give nothing. */
    assert_int_equal(hfi_cursor_u8(&c), 0);
    assert_null(hfi_cursor_bytes(&c, 0));

    hfi_cursor_init(&c, data, sizeof data);
    assert_null(hfi_cursor_bytes(&c, SIZE_MAX));
    assert_true(c.failed);
    hfi_cursor_init(&c, data, sizeof data);
    (void)hfi_cursor_u8(&c);
    assert_null(hfi_cursor_bytes(&c, SIZE_MAX)); /* at + bytes wraps */
    hfi_cursor_init(&c, NULL, 0);
    assert_int_equal(hfi_cursor_u8(&c), 0);
    assert_true(c.failed);
}

static void test_load_store(void **state)
{
    (void)state;
    uint8_t b[8];
    hfi_store_u64(b, UINT64_C(0xf1e2d3c4b5a69788));
    assert_int_equal(b[0], 0x88);
    assert_int_equal(b[7], 0xf1);
    assert_true(hfi_load_u64(b) == UINT64_C(0xf1e2d3c4b5a69788));
    assert_true(hfi_load_u32(b + 4) == 0xf1e2d3c4u);
}

static void test_hex(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0x00, 0x01, 0x7f, 0x80, 0xab, 0xff};
    char text[13];
    uint8_t back[6];
    hfi_hex_encode(text, bytes, 6);
    assert_string_equal(text, "00017f80abff");
    assert_true(hfi_hex_decode(back, 6, "00017F80aBfF", 12));
    assert_memory_equal(back, bytes, 6);
    hfi_hex_encode(text, bytes, 0);
    assert_string_equal(text, "");
    assert_true(hfi_hex_decode(back, 0, "", 0));

    memset(back, 0x77, 6);
    assert_false(hfi_hex_decode(back, 6, text, 0));
    assert_false(hfi_hex_decode(back, 6, "00017f80abf", 11));
    assert_false(hfi_hex_decode(back, 6, "00017f80abff0", 13));
    assert_false(hfi_hex_decode(back, 6, "00017f80abff00", 14));
    assert_false(hfi_hex_decode(back, 5, "00017f80abff", 12));
    static const char bad[] = "g/:@`G xX\x80-+";
    for (size_t i = 0; i < sizeof bad; i++) { /* the zero at the end too */
        char wrong[] = "00017f80abff";
        wrong[i % 12] = bad[i];
        assert_false(hfi_hex_decode(back, 6, wrong, 12));
    }
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(back[i], 0x77); /* untouched on failure */
}

static void test_base64(void **state)
{
    (void)state;
    /* RFC 4648 section 10. */
    static const char *const plain[] = {"",     "f",     "fo",    "foo",
                                        "foob", "fooba", "foobar"};
    static const char *const coded[] = {
        "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (size_t n = 0; n < 7; n++) {
        char text[16];
        char back[16];
        hfi_base64_encode(text, plain[n], n);
        assert_string_equal(text, coded[n]);
        assert_true(hfi_base64_decode(back, n, text, strlen(text)));
        assert_memory_equal(back, plain[n], n);
    }
    uint8_t all[256];
    uint8_t back[256];
    char text[4 * 86 + 1];
    for (size_t i = 0; i < 256; i++)
        all[i] = (uint8_t)(i * 167 + 13);
    for (size_t n = 0; n <= 256; n++) {
        hfi_base64_encode(text, all, n);
        assert_int_equal(strlen(text), 4 * ((n + 2) / 3));
        assert_true(hfi_base64_decode(back, n, text, strlen(text)));
        assert_memory_equal(back, all, n);
        assert_false(hfi_base64_decode(back, n + 1, text, strlen(text)));
    }
}

static void test_base64_strict(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        const char *text;
    } bad[] = {
        {1, "Zh=="}, /* unused bits set */
        {2, "Zm9="},    {1, "Zg"},     {1, "Zg="},      {1, "Zg==="},
        {1, "=Zg="},    {1, "Z==="},   {1, "===="},     {2, "Zg=="},
        {1, "Zm8="},    {3, "Zm8="},   {3, "Zm9\n"},    {3, "Zm-v"},
        {3, "Zm_v"},    {3, " Zm9"},   {4, "Zg==Zg=="}, {6, "Zm9vYm=="},
        {5, "Zm9vYmE"}, {3, "Zm9v\n"}, {0, "===="},     {3, "Zm9*"},
        {1, "Zg==\n"},
    };
    uint8_t back[8];
    memset(back, 0x77, sizeof back);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(hfi_base64_decode(back, bad[i].bytes, bad[i].text,
                                       strlen(bad[i].text)));
    for (size_t i = 0; i < sizeof back; i++)
        assert_int_equal(back[i], 0x77);
    assert_false(hfi_base64_decode(back, 3, "Zm\0v", 4));
    assert_false(hfi_base64_decode(back, SIZE_MAX, "", 0));
}

/* ---- texts ------------------------------------------------------------- */

static void test_text(void **state)
{
    (void)state;
    struct test_env t;
    hfi_text text;
    test_env_init(&t);
    hfi_text_init(&text, &t.env);
    assert_null(text.data);
    hfi_text_add(&text, "a");
    for (int i = 0; i < 1000; i++)
        hfi_text_addf(&text, "%d,", i);
    assert_false(text.failed);
    assert_int_equal(text.bytes, 1 + 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(strlen(text.data), text.bytes);
    assert_memory_equal(text.data, "a0,1,2,", 7);
    assert_string_equal(text.data + text.bytes - 8, "998,999,");
    hfi_text_free(&text);
    assert_null(text.data);
    hfi_text_free(&text);
    test_env_done(&t);
}

static void test_text_json(void **state)
{
    (void)state;
    hfi_text text;
    hfi_text_init(&text, NULL);
    hfi_text_add_json(&text, "q\"b\\s/\b\f\n\r\t\x01\x1f\x7f"
                             "\xc3\xa9\xf0\x9f\x98\x80|\xff|\xe2\x82");
    assert_string_equal(text.data,
                        "\"q\\\"b\\\\s/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f"
                        "\xc3\xa9\xf0\x9f\x98\x80|\xef\xbf\xbd|"
                        "\xef\xbf\xbd\xef\xbf\xbd\"");
    hfi_text_free(&text);
}

static void test_text_no_memory(void **state)
{
    (void)state;
    struct test_env t;
    test_env_init(&t);
    for (uint64_t n = 1;; n++) {
        hfi_text text;
        hfi_text_init(&text, &t.env);
        alloc_fail_start(n);
        for (int i = 0; i < 100; i++) {
            hfi_text_add(&text, "0123456789");
            hfi_text_addf(&text, "%d", 77);
            hfi_text_add_json(&text, "x\n");
        }
        bool failed = alloc_fail_end();
        assert_int_equal(text.failed, failed);
        if (text.data != NULL)
            assert_int_equal(strlen(text.data), text.bytes);
        hfi_text_free(&text);
        if (!failed)
            break;
        assert_in_range(n, 1, 20);
    }
    test_env_done(&t);
}

/* ---- log --------------------------------------------------------------- */

static void count_call(void *user)
{
    (*(int *)user)++;
}

static void test_log_ring(void **state)
{
    (void)state;
    struct test_env t;
    int woken = 0;
    hfi_log *log = NULL;
    hfi_log_record r;
    test_env_init(&t);
    hfi_log_opts opts = {.level = HFI_LOG_INFO,
                         .capacity = 4,
                         .on_record = count_call,
                         .on_record_user = &woken};
    assert_int_equal(hfi_log_new(&log, &t.env.alloc, &opts, NULL), HF_OK);
    assert_true(hfi_log_on(log, HFI_LOG_ERROR));
    assert_true(hfi_log_on(log, HFI_LOG_INFO));
    assert_false(hfi_log_on(log, HFI_LOG_DEBUG));
    assert_false(hfi_log_on(log, HFI_LOG_OFF));
    assert_false(hfi_log_on(NULL, HFI_LOG_ERROR));
    assert_false(hfi_log_next(log, &r));

    uint64_t before = hfi_wall_ms();
    hfi_logf(log, HFI_LOG_DEBUG, "base", "not on");
    for (int i = 0; i < 7; i++)
        hfi_logf(log, HFI_LOG_WARN, "a long module name", "record\n%d", i);
    assert_int_equal(woken, 4); /* three did not fit */
    for (int i = 0; i < 2; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "record %d", i);
        assert_true(hfi_log_next(log, &r));
        assert_string_equal(r.text, text);
        assert_string_equal(r.module, "a long modul...");
        assert_int_equal(r.level, HFI_LOG_WARN);
        assert_int_equal(r.dropped, 0);
        assert_in_range(r.time_ms, before, hfi_wall_ms());
    }
    hfi_logf(log, HFI_LOG_ERROR, "base", "late");
    hfi_logf(log, HFI_LOG_ERROR, "base", "later");
    for (int i = 2; i < 4; i++)
        assert_true(hfi_log_next(log, &r));
    assert_true(hfi_log_next(log, &r));
    assert_string_equal(r.text, "late");
    assert_int_equal(r.dropped, 3);
    assert_true(hfi_log_next(log, &r));
    assert_int_equal(r.dropped, 0);
    assert_false(hfi_log_next(log, &r));

    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hfi_logf(log, HFI_LOG_ERROR, "base", "%s", text);
    assert_true(hfi_log_next(log, &r));
    assert_int_equal(strlen(r.text), HFI_LOG_TEXT - 1);
    hfi_log_free(log);
    hfi_log_free(NULL);
    test_env_done(&t);
}

static void keep_record(void *user, const hfi_log_record *record)
{
    *(hfi_log_record *)user = *record;
}

static void test_log_sink(void **state)
{
    (void)state;
    hfi_log *log = NULL;
    hfi_log_record seen = {0};
    hfi_log_opts opts = {
        .level = HFI_LOG_TRACE, .sink = keep_record, .sink_user = &seen};
    assert_int_equal(hfi_log_new(&log, NULL, &opts, NULL), HF_OK);
    hfi_logf(log, HFI_LOG_TRACE, "m", "n = %d", 5);
    assert_string_equal(seen.text, "n = 5");
    assert_string_equal(seen.module, "m");
    assert_false(hfi_log_next(log, &seen));
    hfi_log_free(log);
    hfi_logf(NULL, HFI_LOG_ERROR, "m", "nowhere");

    assert_int_equal(hfi_log_new(&log, NULL, NULL, NULL), HF_OK);
    assert_false(hfi_log_on(log, HFI_LOG_ERROR));
    hfi_logf(log, HFI_LOG_ERROR, "m", "off");
    assert_false(hfi_log_next(log, &seen));
    hfi_log_free(log);
}

static void test_log_no_memory(void **state)
{
    (void)state;
    struct test_env t;
    test_env_init(&t);
    for (uint64_t n = 1; n <= 2; n++) {
        hfi_log *log = NULL;
        hf_error err;
        hfi_log_opts opts = {.level = HFI_LOG_INFO};
        alloc_fail_start(n);
        assert_int_equal(hfi_log_new(&log, &t.env.alloc, &opts, &err),
                         HF_E_MEMORY);
        assert_true(alloc_fail_end());
        assert_null(log);
    }
    test_env_done(&t);
}

/* ---- time, randomness -------------------------------------------------- */

static void test_clock(void **state)
{
    (void)state;
    uint64_t start = hfi_now_ns();
    hfi_sleep_ms(20);
    uint64_t took = hfi_now_ns() - start;
    assert_in_range(took, UINT64_C(20000000), UINT64_C(20000000000));
    /* After this was written, before the year 2200. */
    assert_in_range(hfi_wall_ms(), UINT64_C(1700000000000),
                    UINT64_C(7260000000000));
    assert_int_equal(hfi_pid(), getpid());
}

static void test_process_start(void **state)
{
    (void)state;
    char host[300];
    uint64_t ours = hfi_process_start(hfi_pid());
    assert_true(ours > 0);
    assert_true(hfi_process_start(hfi_pid()) == ours);
    assert_true(hfi_process_start(UINT64_C(1) << 40) == 0);
    hfi_host_name(host, sizeof host);
    assert_true(strlen(host) > 0);
    hfi_host_name(host, 8);
    assert_true(strlen(host) < 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_error_wrap),
        cmocka_unit_test(test_error_cut),
        cmocka_unit_test(test_error_one_line),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_alloc_hook),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_scratch_leaks_nothing),
        cmocka_unit_test(test_wipe),
        cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_load_store),
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_base64_strict),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_json),
        cmocka_unit_test(test_text_no_memory),
        cmocka_unit_test(test_log_ring),
        cmocka_unit_test(test_log_sink),
        cmocka_unit_test(test_log_no_memory),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_process_start),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}

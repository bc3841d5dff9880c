/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The JSON reader: what it takes, what it refuses and where it says so.
 */
#include "base/base.h"
#include "support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_status parse_bytes(hfi_json_doc **doc, const hfi_json **root,
                             const char *text, size_t bytes, hf_error *err)
{
    /* A copy without a byte to spare: the sanitizer sees a read past it. */
    char *copy = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(copy);
    if (bytes > 0)
        memcpy(copy, text, bytes);
    *doc = NULL;
    *root = NULL;
    hf_status s = hfi_json_parse(doc, root, NULL, "t.json", copy, bytes, err);
    free(copy);
    return s;
}

static void test_tree(void **state)
{
    (void)state;
    static const char text[] =
        " { \"a\" : [ null, true, false, -12.50e+3, \"t\\u00e9\\ud83d\\ude00"
        "\\n\\/\" ],\n \"\" : { }, \"b\" : 18446744073709551615, \"c\":[] } ";
    hfi_json_doc *doc;
    const hfi_json *root;
    hf_error err;
    assert_int_equal(parse_bytes(&doc, &root, text, strlen(text), &err), HF_OK);
    assert_int_equal(root->type, HFI_JSON_OBJECT);
    assert_int_equal(root->count, 4);
    assert_null(root->key);
    const hfi_json *a = hfi_json_member(root, "a");
    assert_ptr_equal(a, root->child);
    assert_string_equal(a->key, "a");
    assert_int_equal(a->type, HFI_JSON_ARRAY);
    assert_int_equal(a->count, 5);
    const hfi_json *n = a->child;
    assert_int_equal(n->type, HFI_JSON_NULL);
    n = n->next;
    assert_true(n->type == HFI_JSON_BOOL && n->truth);
    n = n->next;
    assert_true(n->type == HFI_JSON_BOOL && !n->truth);
    n = n->next;
    assert_int_equal(n->type, HFI_JSON_NUMBER);
    assert_string_equal(n->text, "-12.50e+3"); /* not rounded, not changed */
    n = n->next;
    assert_int_equal(n->type, HFI_JSON_STRING);
    assert_string_equal(n->text, "t\xc3\xa9\xf0\x9f\x98\x80\n/");
    assert_int_equal(n->length, 9);
    assert_null(n->next);
    assert_int_equal(hfi_json_member(root, "")->type, HFI_JSON_OBJECT);
    assert_null(hfi_json_member(root, "d"));
    assert_null(hfi_json_member(a, "a"));
    assert_null(hfi_json_member(NULL, "a"));
    assert_int_equal(hfi_json_member(root, "c")->count, 0);
    hfi_json_free(doc);
    hfi_json_free(NULL);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool fits64;
        bool fits32;
        uint64_t value;
    } cases[] = {
        {"0", true, true, 0},
        {"4294967295", true, true, UINT32_MAX},
        {"4294967296", true, false, UINT64_C(4294967296)},
        {"18446744073709551615", true, false, UINT64_MAX},
        {"18446744073709551616", false, false, 0},
        {"99999999999999999999999999", false, false, 0},
        {"-1", false, false, 0},
        {"-0", false, false, 0},
        {"1.0", false, false, 0},
        {"1e3", false, false, 0},
        {"\"1\"", false, false, 0},
        {"null", false, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hfi_json_doc *doc;
        const hfi_json *root;
        uint64_t v64 = 7;
        uint32_t v32 = 7;
        assert_int_equal(parse_bytes(&doc, &root, cases[i].text,
                                     strlen(cases[i].text), NULL),
                         HF_OK);
        assert_int_equal(hfi_json_u64(root, &v64), cases[i].fits64);
        assert_int_equal(hfi_json_u32(root, &v32), cases[i].fits32);
        assert_true(v64 == (cases[i].fits64 ? cases[i].value : 7));
        assert_true(v32 == (cases[i].fits32 ? cases[i].value : 7));
        hfi_json_free(doc);
    }
    assert_false(hfi_json_u64(NULL, &(uint64_t){0}));
    assert_false(hfi_json_u32(NULL, &(uint32_t){0}));
}

/* Text, and what the message must hold. */
struct refused {
    const char *text;
    const char *says;
};

static void test_refused(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {"", "line 1, byte 0"},
        {" \n ", "line 2, byte 3"},
        {"{\"a\":1,\n\"b\":2,\n\"a\":3}", "line 3, byte 18: the key \"a\""},
        {"{\"a\":1,\"\\u0061\":2}", "the key \"a\" a second time"},
        {"[{\"x\":{\"k\":0,\"k\":0}}]", "the key \"k\""},
        {"{\"\":1,\"\":2}", "the key \"\""},
        {"[1,2", "premature"},
        {"{\"a\":", "premature"},
        {"tru", "line 1"},
        {"1 2", "trailing"},
        {"{}{}", "trailing"},
        {"{} tru", "line 1"},
        {"[1],", "trailing"},
        {"{} \"abc", "byte 3: a string without an end"},
        {"\"abc\\", "a string without an end"},
        {"[\"a\n\"]", "byte 3: a control character"},
        {"\"\x1f\"", "a control character"},
        {"\"\\x41\"", "line 1"},
        {"\"\\u12g4\"", "line 1"},
        {"\"\\u12\"", "line 1"},
        {"\"\\u", "a string without an end"},
        {"\"\\u12", "a string without an end"},
        {"\"a\\u0000b\"", "byte 2: a zero character"},
        {"\"\\ud800\"", "half of a surrogate pair"},
        {"\"\\udc00\"", "half of a surrogate pair"},
        {"\"\\ud800\\ud800\"", "half of a surrogate pair"},
        {"\"\\ud800x\"", "half of a surrogate pair"},
        {"\"\\ud83d\\u0041\"", "half of a surrogate pair"},
        {"\"\\ud800\\", "half of a surrogate pair"},
        {"\"\xc0\xaf\"", "byte 1: bytes that are not UTF-8"},
        {"\"\xed\xa0\x80\"", "not UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "not UTF-8"},
        {"\"\xe2\x82", "not UTF-8"},
        {"\xff", "byte 0: bytes that are not UTF-8"},
        {"\xef\xbb\xbf{}", "line 1"},
        {"/* c */ 1", "line 1"},
        {"1 // c", "line 1"},
        {"[01]", "line 1"},
        {"+1", "line 1"},
        {"[1.]", "line 1"},
        {"[.5]", "line 1"},
        {"1.", "line 1"},
        {"[1e]", "line 1"},
        {"-", "line 1"},
        {"--1", "line 1"},
        {"NaN", "line 1"},
        {"[Infinity]", "line 1"},
        {"[0x10]", "line 1"},
        {"[1,]", "line 1"},
        {"[,1]", "line 1"},
        {"{\"a\":1,}", "line 1"},
        {"{\"a\" 1}", "line 1"},
        {"{:1}", "line 1"},
        {"{1:2}", "line 1"},
        {"{a:1}", "line 1"},
        {"{'a':1}", "line 1"},
        {"[1}", "line 1"},
        {"}", "line 1"},
        {"True", "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hfi_json_doc *doc;
        const hfi_json *root;
        hf_error err;
        hf_status s = parse_bytes(&doc, &root, cases[i].text,
                                  strlen(cases[i].text), &err);
        if (s != HF_E_FORMAT || strstr(err.message, cases[i].says) == NULL ||
            strncmp(err.message, "t.json, line ", 13) != 0)
            fail_msg("%s: status %d, %s", cases[i].text, (int)s,
                     s == HF_OK ? "" : err.message);
        assert_null(doc);
        assert_null(root);
    }
    hfi_json_doc *doc;
    const hfi_json *root;
    assert_int_equal(parse_bytes(&doc, &root, "{}\0", 3, NULL), HF_E_FORMAT);
    assert_int_equal(parse_bytes(&doc, &root, "\"a\0b\"", 5, NULL),
                     HF_E_FORMAT);
    assert_int_equal(parse_bytes(&doc, &root, "[1]", 2, NULL), HF_E_FORMAT);
}

static char *nested(size_t depth, const char *open, const char *close)
{
    size_t width = strlen(open);
    char *text = malloc(depth * (width + 1) + 2);
    assert_non_null(text);
    for (size_t i = 0; i < depth; i++)
        memcpy(text + i * width, open, width);
    text[depth * width] = '1';
    memset(text + depth * width + 1, close[0], depth);
    text[depth * (width + 1) + 1] = '\0';
    return text;
}

static void test_depth(void **state)
{
    (void)state;
    static const char *const forms[][2] = {{"[", "]"}, {"{\"a\":", "}"}};
    for (size_t form = 0; form < 2; form++)
        for (size_t depth = 63; depth <= 1000000; depth++) {
            if (depth == 67)
                depth = 1000000;
            hfi_json_doc *doc;
            const hfi_json *root;
            hf_error err;
            char *text = nested(depth, forms[form][0], forms[form][1]);
            hf_status s = parse_bytes(&doc, &root, text, strlen(text), &err);
            assert_int_equal(s, depth <= 64 ? HF_OK : HF_E_FORMAT);
            if (s != HF_OK)
                assert_non_null(strstr(err.message, "64 levels"));
            free(text);
            hfi_json_free(doc);
        }
}

/* Keys in an order that is bad for careless sorts; one pair at the end. */
static void test_many_keys(void **state)
{
    (void)state;
    for (int pass = 0; pass < 2; pass++) {
        hfi_text t;
        hfi_json_doc *doc;
        const hfi_json *root;
        hf_error err;
        hfi_text_init(&t, NULL);
        hfi_text_add(&t, "{");
        for (unsigned i = 0; i < 50000; i++)
            hfi_text_addf(&t, "\"key%u\":%u,", i * 7919u % 50000u, i);
        hfi_text_addf(&t, "\"%s\":0}", pass == 0 ? "other" : "key31");
        assert_false(t.failed);
        uint64_t start = hfi_now_ns();
        hf_status s = parse_bytes(&doc, &root, t.data, t.bytes, &err);
        assert_in_range(hfi_now_ns() - start, 0, UINT64_C(20000000000));
        if (pass == 0) {
            assert_int_equal(s, HF_OK);
            assert_int_equal(root->count, 50001);
        } else {
            assert_int_equal(s, HF_E_FORMAT);
            assert_non_null(strstr(err.message, "the key \"key31\""));
            char where[32];
            (void)snprintf(where, sizeof where, "byte %zu:", t.bytes - 3);
            assert_non_null(strstr(err.message, where));
        }
        hfi_json_free(doc);
        hfi_text_free(&t);
    }
}

/* Objects of every small size, keys shuffled, two of them alike. */
static void test_shuffled_keys(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (unsigned count = 2; count < 200; count++) {
        unsigned keys[200];
        size_t at[200];
        char where[64];
        hfi_text t;
        hfi_json_doc *doc;
        const hfi_json *root;
        hf_error err;
        for (unsigned i = 0; i < count; i++) {
            random = random * 1664525u + 1013904223u;
            unsigned j = (random >> 8) % (i + 1);
            keys[i] = keys[j];
            keys[j] = i;
        }
        unsigned second = 1 + (random >> 16) % (count - 1);
        unsigned first = (random >> 4) % second;
        keys[second] = keys[first];
        hfi_text_init(&t, NULL);
        for (unsigned i = 0; i < count; i++) {
            hfi_text_addf(&t, "%s\"k%u\"", i == 0 ? "{" : ",", keys[i]);
            at[i] = t.bytes; /* the reader points behind the key */
            hfi_text_add(&t, ":0");
        }
        hfi_text_add(&t, "}");
        assert_false(t.failed);
        assert_int_equal(parse_bytes(&doc, &root, t.data, t.bytes, &err),
                         HF_E_FORMAT);
        (void)snprintf(where, sizeof where, "byte %zu: the key \"k%u\"",
                       at[second], keys[second]);
        assert_non_null(strstr(err.message, where));
        hfi_text_free(&t);
    }
}

static void test_hostile_key_in_message(void **state)
{
    (void)state;
    hfi_json_doc *doc;
    const hfi_json *root;
    hf_error err;
    char text[1200];
    char key[500];
    for (size_t i = 0; i + 6 < sizeof key; i += 6)
        memcpy(key + i, "\\u000a", 7);
    (void)snprintf(text, sizeof text, "{\"%s\":1,\"%s\":1}", key, key);
    assert_int_equal(parse_bytes(&doc, &root, text, strlen(text), &err),
                     HF_E_FORMAT);
    assert_null(strchr(err.message, '\n'));
    assert_non_null(strstr(err.message, "a second time"));
}

static void test_no_memory(void **state)
{
    (void)state;
    /* Long strings with escapes make libyajl grow its buffers. */
    struct test_env t;
    hfi_text text;
    uint64_t n;
    test_env_init(&t);
    hfi_text_init(&text, NULL);
    hfi_text_add(&text, "{\"list\":[");
    for (int i = 0; i < 300; i++)
        hfi_text_addf(&text, "{\"a\":%d,\"b\":\"x\\n%d\",\"c\":null},", i, i);
    hfi_text_add(&text, "\"");
    for (int i = 0; i < 3000; i++)
        hfi_text_add(&text, "\\u20ac long ");
    hfi_text_add(&text, "\"],\"z\":1");
    hfi_text_add(&text, "}");
    assert_false(text.failed);
    for (n = 1;; n++) {
        hfi_json_doc *doc = NULL;
        const hfi_json *root = NULL;
        hf_error err = {0};
        alloc_fail_start(n);
        hf_status s = hfi_json_parse(&doc, &root, &t.env, "t", text.data,
                                     text.bytes, &err);
        if (!alloc_fail_end()) {
            assert_int_equal(s, HF_OK);
            hfi_json_free(doc);
            break;
        }
        assert_int_equal(s, HF_E_MEMORY);
        assert_null(doc);
        assert_non_null(strstr(err.message, "no memory"));
        assert_int_equal(t.live, 0);
    }
    assert_in_range(n, 10, 1000); /* there were sites to fail */
    /* The error path of libyajl allocates too. */
    for (n = 1;; n++) {
        hfi_json_doc *doc = NULL;
        const hfi_json *root = NULL;
        hf_error err = {0};
        alloc_fail_start(n);
        hf_status s = hfi_json_parse(&doc, &root, &t.env, "t", text.data,
                                     text.bytes - 1, &err);
        bool failed = alloc_fail_end();
        assert_int_equal(s, failed ? HF_E_MEMORY : HF_E_FORMAT);
        if (!failed)
            break;
    }
    hfi_text_free(&text);
    test_env_done(&t);
}

static void test_own_allocator(void **state)
{
    (void)state;
    struct test_env t;
    hfi_json_doc *doc;
    const hfi_json *root;
    test_env_init(&t);
    assert_int_equal(
        hfi_json_parse(&doc, &root, &t.env, "t", "[1,[2]]", 7, NULL), HF_OK);
    assert_in_range(t.live, 2, 3); /* the document and its arena, no more */
    hfi_json_free(doc);
    test_env_done(&t);
}

/* What we write, we read back. */
static void test_round_trip(void **state)
{
    (void)state;
    char all[256];
    size_t n = 0;
    for (int c = 1; c < 128; c++)
        all[n++] = (char)c;
    memcpy(all + n, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10);
    hfi_text t;
    hfi_json_doc *doc;
    const hfi_json *root;
    hfi_text_init(&t, NULL);
    hfi_text_add_json(&t, all);
    assert_int_equal(parse_bytes(&doc, &root, t.data, t.bytes, NULL), HF_OK);
    assert_string_equal(root->text, all);
    hfi_json_free(doc);
    hfi_text_free(&t);
}

static void test_vectors_are_read(void **state)
{
    (void)state;
    struct vectors v;
    uint8_t id[32];
    vectors_load(&v, "space/labels.json");
    const hfi_json *first = vectors_member(v.root, "labels")->child;
    assert_non_null(first);
    vectors_hex_exact(first, "commitment", id, sizeof id);
    assert_true(vectors_u64(first, "n") >= 2);
    assert_int_equal(vectors_hex(first, "label32", id, 32), 32);
    assert_true(vectors_member(v.root, "labels")->count >= 300);
    vectors_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_shuffled_keys),
        cmocka_unit_test(test_hostile_key_in_message),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_own_allocator),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_vectors_are_read),
    };
    return cmocka_run_group_tests_name("base json", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Proofs as JSON: written, read again, and what is refused, each time by the
 * member's name, what it is and what it may be.
 */
#include "space/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static record good;
static char text[4096]; /* of good.proof */

static int format_good(void **state)
{
    (void)state;
    size_t need = 0;
    record_find(&good, "d1 N=8192");
    return hf_space_proof_format(&good.proof, text, sizeof text, &need, NULL) ==
                   HF_OK
               ? 0
               : 1;
}

static void same(const hf_space_proof *a, const hf_space_proof *b)
{
    assert_int_equal(a->nonce, b->nonce);
    assert_true(a->pow == b->pow);
    assert_int_equal(a->indices_bytes, b->indices_bytes);
    assert_memory_equal(a->indices, b->indices, a->indices_bytes);
    assert_memory_equal(a->challenge, b->challenge, 32);
    assert_memory_equal(a->node_id, b->node_id, 32);
    assert_memory_equal(a->commitment_atx_id, b->commitment_atx_id, 32);
    assert_int_equal(a->num_units, b->num_units);
    assert_true(a->labels_per_unit == b->labels_per_unit);
}

/* The form that other programs read. */
static void the_text_is_as_promised(void **state)
{
    (void)state;
    static const char wanted[] =
        "{\n"
        "  \"version\": 1,\n"
        "  \"nonce\": 4,\n"
        "  \"indices\": \"14a89839f386ce1e40810e61ea04\",\n"
        "  \"pow\": \"91\",\n"
        "  \"challenge\": \"b0382c2b9f401af29bcdb12601d5dc15ecb54853fc0c14a152e"
        "76cdaabfce454\",\n"
        "  \"node_id\": \"4de5a9ab1b22e66c2bcdf6c66b7eabf7d35974b2da49354b6bd45"
        "72e9de07e7f\",\n"
        "  \"commitment_atx_id\": \"1d7540938109b15c3b9bb9bfcd0785957ac7cfaa818"
        "810f9b846ef5e2b4dfd43\",\n"
        "  \"num_units\": 1,\n"
        "  \"labels_per_unit\": 256\n"
        "}\n";
    assert_string_equal(text, wanted);
}

static void the_size_is_told_first(void **state)
{
    (void)state;
    char small[4096];
    size_t need = 0;
    hf_error err;
    assert_int_equal(hf_space_proof_format(&good.proof, NULL, 0, &need, &err),
                     HF_E_MEMORY);
    assert_int_equal(need, strlen(text) + 1);
    memset(small, 'x', sizeof small);
    assert_int_equal(
        hf_space_proof_format(&good.proof, small, need - 1, &need, &err),
        HF_E_MEMORY);
    assert_int_equal(small[0], 'x');
    assert_int_equal(
        hf_space_proof_format(&good.proof, small, need, &need, &err), HF_OK);
    assert_string_equal(small, text);
    assert_int_equal(small[need], 'x');
    hf_space_proof endless = good.proof;
    endless.indices_bytes = SIZE_MAX / 2;
    assert_int_equal(hf_space_proof_format(&endless, NULL, 0, &need, &err),
                     HF_E_ARGUMENT);
}

static void parse_gives_it_back(void **state)
{
    (void)state;
    hf_space_proof *proof = NULL;
    hf_space_proof extreme = good.proof;
    char other[4096];
    size_t need;
    hf_error err;
    assert_int_equal(
        hf_space_proof_parse(&proof, "it", text, strlen(text), &err), HF_OK);
    same(proof, &good.proof);
    hf_space_proof_free(proof);
    extreme.nonce = UINT32_MAX;
    extreme.pow = UINT64_MAX;
    extreme.num_units = UINT32_MAX;
    extreme.labels_per_unit = UINT64_MAX;
    extreme.indices = NULL;
    extreme.indices_bytes = 0;
    assert_int_equal(
        hf_space_proof_format(&extreme, other, sizeof other, &need, &err),
        HF_OK);
    assert_int_equal(hf_space_proof_parse(&proof, "it", other, need - 1, &err),
                     HF_OK);
    extreme.indices = proof->indices;
    same(proof, &extreme);
    hf_space_proof_free(proof);
}

/* ---- refused ------------------------------------------------------------------ */

/* `from` in the good text replaced by `to`. */
static void refused(const char *from, const char *to, const char *first,
                    const char *second)
{
    char other[8192], both[600];
    hf_space_proof *proof = NULL;
    hf_error err;
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(other, sizeof other, "%.*s%s%s", (int)(at - text), text, to,
             at + strlen(from));
    hf_status s = hf_space_proof_parse(&proof, "it", other, strlen(other),
                                       &err);
    snprintf(both, sizeof both, "%s: %s", err.message, err.cause);
    if (s != HF_E_FORMAT || !strstr(both, "it") || !strstr(both, first) ||
        !strstr(both, second))
        fail_msg("%s: \"%s\" lacks \"%s\" or \"%s\"", to, both, first, second);
    assert_null(proof);
}

static void what_is_refused(void **state)
{
    (void)state;
    refused("\"version\": 1", "\"version\": 2", "version is 2", "1");
    refused("\"version\": 1", "\"version\": \"1\"", "version", "allowed");
    refused("\"nonce\": 4", "\"nonce\": -4", "nonce is -4", "4294967295");
    refused("\"nonce\": 4", "\"nonce\": 4294967296", "nonce is 4294967296",
            "4294967295");
    refused("\"nonce\": 4", "\"nonce\": 4.0", "nonce is 4.0", "number");
    refused("\"nonce\": 4", "\"nonce\": null", "nonce is null", "number");
    refused("\"nonce\": 4,", "", "nonce", "missing");
    refused("\"nonce\": 4", "\"nonce\": 4, \"nonce\": 4", "nonce", "");
    refused("\"nonce\": 4", "\"nonce\": 4, \"nonse\": 4", "nonse", "member");
    refused("14a898", "14a89", "indices is 14a89", "hex");
    refused("14a898", "14a89x", "indices is 14a89x", "hex");
    refused("\"91\"", "91", "pow is 91", "string");
    refused("\"91\"", "\"\"", "pow", "digits");
    refused("\"91\"", "\"091\"", "pow is 091", "digits");
    refused("\"91\"", "\"9 1\"", "pow is 9 1", "digits");
    refused("\"91\"", "\"18446744073709551616\"", "pow is 18446744073709551616",
            "at most");
    refused("b0382c", "b0382", "challenge is b0382", "64 hex");
    refused("4de5a9", "4de5a9aa", "node_id is 4de5", "64 hex");
    refused("\"1d7540", "\"1d754g", "commitment_atx_id is 1d754g", "64 hex");
    refused("\"num_units\": 1", "\"num_units\": [1]", "num_units is an array",
            "4294967295");
    refused("\"labels_per_unit\": 256", "\"labels_per_unit\": 1e3",
            "labels_per_unit is 1e3", "18446744073709551615");
    refused("}\n", "", "it", "");
    refused("}\n", "} {}", "it", "");
}

static void not_even_an_object(void **state)
{
    (void)state;
    static const char *const texts[] = {"",   "7", "\"x\"", "null",
                                        "[]", "{", "\xff",  "{}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        hf_space_proof *proof = NULL;
        hf_error err = {0};
        assert_int_equal(hf_space_proof_parse(&proof, "it", texts[i],
                                              strlen(texts[i]), &err),
                         HF_E_FORMAT);
        assert_true(err.message[0] != '\0');
        assert_null(proof);
    }
}

/* Refused by its length, before a byte is read or allocated. */
static void a_text_without_end(void **state)
{
    (void)state;
    hf_space_proof *proof = NULL;
    hf_error err;
    char path[TEMP_PATH], *dir = temp_folder();
    assert_int_equal(hf_space_proof_parse(&proof, "it", text, SIZE_MAX, &err),
                     HF_E_FORMAT);
    assert_non_null(strstr(err.message, "18446744073709551615"));
    temp_write(temp_path(path, dir, "proof.json"), "", 0);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 1L << 40, SEEK_SET), 0); /* sparse */
    assert_int_equal(fputc(' ', f), ' ');
    assert_int_equal(fclose(f), 0);
    assert_int_equal(hf_space_proof_load(&proof, path, &err), HF_E_FORMAT);
    assert_null(proof);
    temp_folder_remove(dir);
}

/* ---- files ---------------------------------------------------------------------- */

static void saved_and_loaded(void **state)
{
    (void)state;
    hf_space_proof *proof = NULL;
    struct stat info;
    hf_error err;
    char path[TEMP_PATH], *dir = temp_folder();
    temp_path(path, dir, "a proof \xc3\xbc.json");
    assert_int_equal(hf_space_proof_load(&proof, path, &err), HF_E_IO);
    assert_non_null(strstr(err.message, path));
    for (int i = 0; i < 2; i++)
        assert_int_equal(hf_space_proof_save(&good.proof, path, &err), HF_OK);
    char *stored = temp_read(path, NULL);
    assert_string_equal(stored, text);
    free(stored);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(temp_count(dir), 1);
    assert_int_equal(hf_space_proof_load(&proof, path, &err), HF_OK);
    same(proof, &good.proof);
    hf_space_proof_free(proof);
    temp_path(path, dir, "not/there.json");
    assert_int_equal(hf_space_proof_save(&good.proof, path, &err), HF_E_IO);
    temp_folder_remove(dir);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    char path[TEMP_PATH], *dir = temp_folder();
    bool hit = true;
    temp_path(path, dir, "proof.json");
    for (uint64_t nth = 1; hit; nth++) {
        hf_space_proof *proof = NULL;
        alloc_fail_start(nth);
        hf_status s = hf_space_proof_save(&good.proof, path, NULL);
        if (s == HF_OK)
            s = hf_space_proof_load(&proof, path, NULL);
        hit = alloc_fail_end();
        assert_int_equal(s, hit ? HF_E_MEMORY : HF_OK);
        assert_int_equal(proof != NULL, s == HF_OK);
        hf_space_proof_free(proof);
        assert_true(hit || nth > 4);
    }
    temp_folder_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_as_promised),
        cmocka_unit_test(the_size_is_told_first),
        cmocka_unit_test(parse_gives_it_back),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(not_even_an_object),
        cmocka_unit_test(a_text_without_end),
        cmocka_unit_test(saved_and_loaded),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, format_good, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Layout, metadata, sidecar, status of a folder: known files first, then what
 * may go wrong in them.
 */
#include "space/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const hfi_env env;

static const char *const sets[] = {"a-4files-even", "b-3files-uneven",
                                   "c-1file-not-multiple-of-8", "d-n8192"};

static char *path_of(const char *dir, const char *name)
{
    char *path = hfi_path_join(&env, dir, name);
    assert_non_null(path);
    return path;
}

static void put(const char *dir, const char *name, const void *data,
                size_t bytes)
{
    char *path = path_of(dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    hfi_free(&env, path);
}

static char *get(const char *dir, const char *name, size_t *bytes)
{
    char *path = path_of(dir, name);
    char *text = NULL;
    assert_int_equal(hfi_file_load(&env, path, 1 << 20, &text, bytes, NULL),
                     HF_OK);
    hfi_free(&env, path);
    return text;
}

static void clean(const char *dir)
{
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

static void make_dir(char dir[64])
{
    (void)strcpy(dir, "/tmp/hf layout XXXXXX");
    assert_non_null(mkdtemp(dir));
}

static hf_space_meta small_meta(void)
{
    hf_space_meta m = {.size = sizeof m,
                       .labels_per_unit = 500,
                       .num_units = 3,
                       .max_file_size = 8192};
    memset(m.node_id, 0xa1, 32);
    memset(m.commitment_atx_id, 0xb2, 32);
    return m;
}

/* ---- layout ------------------------------------------------------------- */

static void test_layout_shares(void **state)
{
    (void)state;
    hf_space_meta m = small_meta();
    hfi_layout l;
    assert_int_equal(hfi_layout_of(&l, &m, false, NULL), HF_OK);
    assert_int_equal(l.labels_total, 1500);
    assert_int_equal(l.files, 3);
    assert_int_equal(hfi_layout_file_labels(&l, 0), 512);
    assert_int_equal(hfi_layout_file_labels(&l, 1), 512);
    assert_int_equal(hfi_layout_file_labels(&l, 2), 476);
    assert_int_equal(hfi_layout_file_labels(&l, 3), 0);
    assert_int_equal(hfi_layout_file_first(&l, 2), 1024);
    /* Not a multiple of 16: the rest of a label does not count. */
    m.max_file_size = 1039;
    assert_int_equal(hfi_layout_of(&l, &m, false, NULL), HF_OK);
    assert_int_equal(l.labels_per_file, 64);
    assert_int_equal(l.files, 24);
    assert_int_equal(hfi_layout_file_labels(&l, 23), 28);
    /* Exactly full. */
    m.max_file_size = 1500 * 16;
    assert_int_equal(hfi_layout_of(&l, &m, false, NULL), HF_OK);
    assert_int_equal(l.files, 1);
    /* Main net's largest. */
    m.num_units = 1048576;
    m.labels_per_unit = UINT64_C(1) << 32;
    m.max_file_size = UINT64_C(1) << 32;
    assert_int_equal(hfi_layout_of(&l, &m, false, NULL), HF_OK);
    assert_int_equal(l.files, 1u << 24);
}

static void refused(hf_space_meta m, const char *in_text)
{
    hfi_layout l;
    hf_error err;
    assert_int_equal(hfi_layout_of(&l, &m, false, &err), HF_E_ARGUMENT);
    assert_non_null(strstr(err.message, in_text));
    assert_int_equal(hfi_layout_of(&l, &m, true, &err), HF_E_FORMAT);
}

static void test_layout_refuses(void **state)
{
    (void)state;
    hf_space_meta m = small_meta();
    m.num_units = 0;
    refused(m, "units is 0");
    m = small_meta();
    m.labels_per_unit = 0;
    refused(m, "per unit are 0");
    m = small_meta();
    m.max_file_size = 1023;
    refused(m, "1023: give 1024 to");
    m.max_file_size = UINT64_C(1) << 63;
    refused(m, "9223372036854775808");
    m = small_meta();
    m.labels_per_unit = UINT64_MAX;
    refused(m, "18446744073709551615");
    m.num_units = 1;
    m.labels_per_unit = UINT64_C(1) << 59;
    refused(m, "2^59");
    m = small_meta();
    m.num_units = UINT32_MAX;
    m.labels_per_unit = 1024;
    m.max_file_size = 1024;
    refused(m, "larger file size");
}

/* ---- metadata ----------------------------------------------------------- */

static void test_meta_bytes(void **state)
{
    (void)state;
    char dir[64];
    make_dir(dir);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char set[400];
        size_t bytes[2];
        hf_space_meta m = {.size = sizeof m};
        (void)snprintf(set, sizeof set, "%s/space/post/%s", HF_VECTORS,
                       sets[i]);
        assert_int_equal(hf_space_meta_load(&m, set, NULL), HF_OK);
        assert_true(m.has_nonce && m.has_nonce_value);
        assert_false(m.has_last_position);
        assert_int_equal(hfi_meta_save(&m, &env, dir, NULL), HF_OK);
        char *theirs = get(set, HFI_META_NAME, &bytes[0]);
        char *ours = get(dir, HFI_META_NAME, &bytes[1]);
        assert_int_equal(bytes[0], bytes[1]);
        assert_memory_equal(theirs, ours, bytes[0]);
        hfi_free(&env, theirs);
        hfi_free(&env, ours);
    }
    clean(dir);
}

static void test_meta_members(void **state)
{
    (void)state;
    hf_space_meta m = {.size = sizeof m};
    char path[400];
    (void)snprintf(path, sizeof path, "%s/space/post/b-3files-uneven/%s",
                   HF_VECTORS, HFI_META_NAME);
    /* The file itself instead of its folder. */
    assert_int_equal(hf_space_meta_load(&m, path, NULL), HF_OK);
    assert_int_equal(m.labels_per_unit, 500);
    assert_int_equal(m.num_units, 3);
    assert_int_equal(m.max_file_size, 8192);
    assert_int_equal(m.nonce, 439);
    assert_int_equal(m.nonce_value[1], 0x47);
    assert_int_equal(m.node_id[0], 0x83);
    assert_int_equal(m.commitment_atx_id[31], 0x04);
}

#define ID    "oaGhoaGhoaGhoaGhoaGhoaGhoaGhoaGhoaGhoaGhoaE="
#define HEAD  "{\"NodeId\":\"" ID "\",\"CommitmentAtxId\":\"" ID "\","
#define SIZES "\"LabelsPerUnit\":500,\"NumUnits\":3,\"MaxFileSize\":8192"

static hf_status parse(hf_space_meta *m, const char *text, hf_error *err)
{
    return hfi_meta_parse(m, &env, "the text", text, strlen(text), err);
}

static void test_meta_optional(void **state)
{
    (void)state;
    hf_space_meta m;
    assert_int_equal(parse(&m, HEAD SIZES "}", NULL), HF_OK);
    assert_false(m.has_nonce || m.has_nonce_value || m.has_last_position);
    assert_int_equal(parse(&m,
                           HEAD SIZES ",\"Nonce\":null,\"NonceValue\":\"\","
                                      "\"LastPosition\":null,\"More\":[1]}",
                           NULL),
                     HF_OK);
    assert_false(m.has_nonce || m.has_nonce_value || m.has_last_position);
    assert_int_equal(parse(&m,
                           HEAD SIZES ",\"Nonce\":18446744073709551615,"
                                      "\"LastPosition\":0}",
                           NULL),
                     HF_OK);
    assert_true(m.has_nonce && m.has_last_position);
    assert_true(m.nonce == UINT64_MAX && m.last_position == 0);
}

static void test_meta_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *named;
    } cases[] = {
        {"[]", "not a JSON object"},
        {"{\"CommitmentAtxId\":\"" ID "\"," SIZES "}", "NodeId"},
        {"{\"NodeId\":\"AAAA\",\"CommitmentAtxId\":\"" ID "\"," SIZES "}",
         "AAAA"},
        {"{\"NodeId\":7,\"CommitmentAtxId\":\"" ID "\"," SIZES "}", "NodeId"},
        {HEAD "\"LabelsPerUnit\":-1,\"NumUnits\":3,\"MaxFileSize\":8192}",
         "-1"},
        {HEAD "\"LabelsPerUnit\":500,\"NumUnits\":4294967296,"
              "\"MaxFileSize\":8192}",
         "4294967296"},
        {HEAD "\"LabelsPerUnit\":500,\"NumUnits\":3.5,\"MaxFileSize\":8192}",
         "3.5"},
        {HEAD "\"LabelsPerUnit\":500,\"NumUnits\":3}", "MaxFileSize"},
        {HEAD "\"LabelsPerUnit\":500,\"NumUnits\":3,\"MaxFileSize\":15}",
         "describes no data set"},
        {HEAD "\"LabelsPerUnit\":0,\"NumUnits\":3,\"MaxFileSize\":8192}",
         "describes no data set"},
        {HEAD SIZES ",\"Nonce\":\"5\"}", "Nonce"},
        {HEAD SIZES ",\"NonceValue\":\"00\"}", "NonceValue"},
        {HEAD SIZES ",\"LastPosition\":1e3}", "1e3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_space_meta m = {.num_units = 77};
        hf_error err;
        assert_int_equal(parse(&m, cases[i].text, &err), HF_E_FORMAT);
        assert_non_null(strstr(err.message, cases[i].named));
        assert_int_equal(m.num_units, 77);
    }
    hf_space_meta m = {.size = sizeof m};
    hf_error err;
    assert_int_equal(hf_space_meta_load(&m, "/nowhere/at all", &err), HF_E_IO);
    assert_non_null(strstr(err.message, "/nowhere/at all"));
    assert_int_equal(hf_space_meta_load(NULL, "/", NULL), HF_E_ARGUMENT);
    assert_int_equal(hf_space_meta_load(&m, NULL, NULL), HF_E_ARGUMENT);
    m.size = 8;
    assert_int_equal(hf_space_meta_load(&m, "/", NULL), HF_E_ARGUMENT);
}

/* ---- ranges ------------------------------------------------------------- */

/* The list against a plain set of 64 members. */
static void test_ranges_as_sets(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < 200; round++) {
        hfi_label_ranges r = {0};
        uint64_t set = 0;
        for (int op = 0; op < 20; op++) {
            seed = seed * UINT64_C(6364136223846793005) + 1;
            uint64_t a = seed >> 40 & 63;
            uint64_t b = seed >> 50 & 63;
            uint64_t mask = 0;
            for (uint64_t i = a; i < b; i++)
                mask |= UINT64_C(1) << i;
            bool add = (seed >> 33 & 1) != 0;
            set = add ? set | mask : set & ~mask;
            assert_int_equal(add ? hfi_ranges_add(&r, &env, a, b, NULL)
                                 : hfi_ranges_remove(&r, &env, a, b, NULL),
                             HF_OK);
            uint64_t back = 0;
            for (size_t i = 0; i < r.count; i++) {
                assert_true(r.range[i].from < r.range[i].to);
                assert_true(i == 0 || r.range[i - 1].to < r.range[i].from);
                for (uint64_t j = r.range[i].from; j < r.range[i].to; j++)
                    back |= UINT64_C(1) << j;
            }
            assert_true(back == set);
        }
        hfi_ranges_wipe(&r, &env);
    }
}

/* ---- sidecar ------------------------------------------------------------ */

static void test_sidecar_round_trip(void **state)
{
    (void)state;
    char dir[64];
    size_t bytes;
    hfi_sidecar s;
    make_dir(dir);
    assert_int_equal(hfi_sidecar_load(&s, &env, dir, NULL), HF_OK);
    assert_false(s.present);
    s.scrypt_n = 16;
    s.writer_pid = 4711;
    s.writer_start = 99;
    (void)strcpy(s.writer_host, "host \"a\"");
    assert_int_equal(hfi_ranges_add(&s.pending, &env, 5, 9, NULL), HF_OK);
    assert_int_equal(hfi_ranges_add(&s.pending, &env, 100, 200, NULL), HF_OK);
    assert_int_equal(hfi_sidecar_save(&s, &env, dir, NULL), HF_OK);
    hfi_sidecar_wipe(&s, &env);
    assert_int_equal(hfi_sidecar_load(&s, &env, dir, NULL), HF_OK);
    assert_true(s.present);
    assert_int_equal(s.scrypt_n, 16);
    assert_int_equal(s.writer_pid, 4711);
    assert_int_equal(s.writer_start, 99);
    assert_string_equal(s.writer_host, "host \"a\"");
    assert_int_equal(s.pending.count, 2);
    assert_int_equal(s.pending.range[1].from, 100);
    hfi_sidecar_wipe(&s, &env);

    /* What a later version of the library added stays. */
    static const char later[] =
        "{\"version\":1,\"sums\":{\"block\":1048576,\"of\":[1,2.50,null]},"
        "\"scrypt_n\":16,\"disks\":\"\\u00fc\\n\",\"on\":true}";
    put(dir, HFI_SIDECAR_NAME, later, sizeof later - 1);
    assert_int_equal(hfi_sidecar_load(&s, &env, dir, NULL), HF_OK);
    s.scrypt_n = 32;
    assert_int_equal(hfi_sidecar_save(&s, &env, dir, NULL), HF_OK);
    hfi_sidecar_wipe(&s, &env);
    char *text = get(dir, HFI_SIDECAR_NAME, &bytes);
    assert_string_equal(text, "{\n\t\"version\": 1,\n\t\"scrypt_n\": 32,\n"
                              "\t\"sums\": {\"block\": 1048576, "
                              "\"of\": [1, 2.50, null]},\n"
                              "\t\"disks\": \"ü\\n\",\n\t\"on\": true\n}\n");
    hfi_free(&env, text);
    clean(dir);
}

static void test_sidecar_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        hf_status status;
        const char *named;
    } cases[] = {
        {"[1]", HF_E_FORMAT, "version"},
        {"{\"scrypt_n\":16}", HF_E_FORMAT, "version"},
        {"{\"version\":2}", HF_E_UNSUPPORTED, "version 2"},
        {"{\"version\":1,\"scrypt_n\":1}", HF_E_FORMAT, "scrypt_n"},
        {"{\"version\":1,\"scrypt_n\":24}", HF_E_FORMAT, "scrypt_n"},
        {"{\"version\":1,\"scrypt_n\":2147483648}", HF_E_FORMAT, "scrypt_n"},
        {"{\"version\":1,\"writer\":{\"pid\":1}}", HF_E_FORMAT, "writer"},
        {"{\"version\":1,\"pending\":[[2,1]]}", HF_E_FORMAT, "pending"},
        {"{\"version\":1,\"pending\":[[5,9],[1,2]]}", HF_E_FORMAT, "pending"},
        {"{\"version\":1,\"pending\":[[1]]}", HF_E_FORMAT, "pending"},
        {"{\"version\":1,", HF_E_FORMAT, "the text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hfi_sidecar s = {.scrypt_n = 77};
        hf_error err;
        assert_int_equal(hfi_sidecar_parse(&s, &env, "the text", cases[i].text,
                                           strlen(cases[i].text), &err),
                         cases[i].status);
        assert_non_null(strstr(err.message, cases[i].named));
        assert_int_equal(s.scrypt_n, 77);
    }
}

/* A newer file is not overwritten. */
static void test_sidecar_newer_stays(void **state)
{
    (void)state;
    static const char newer[] = "{\"version\":9,\"all\":\"different\"}";
    char dir[64];
    size_t bytes;
    hfi_sidecar s = {.scrypt_n = 16};
    make_dir(dir);
    put(dir, HFI_SIDECAR_NAME, newer, sizeof newer - 1);
    assert_int_equal(hfi_sidecar_save(&s, &env, dir, NULL), HF_E_UNSUPPORTED);
    char *text = get(dir, HFI_SIDECAR_NAME, &bytes);
    assert_string_equal(text, newer);
    hfi_free(&env, text);
    clean(dir);
}

/* ---- status ------------------------------------------------------------- */

/* The files are links to a disk that is not mounted: nothing is taken for new. */
static void test_links_to_nothing(void **state)
{
    (void)state;
    char dir[64], path[96];
    hf_space_meta m = small_meta();
    hf_space_status st = {.size = sizeof st};
    hf_error err;
    make_dir(dir);
    assert_int_equal(hfi_meta_save(&m, &env, dir, NULL), HF_OK);
    snprintf(path, sizeof path, "%s/postdata_1.bin", dir);
    assert_int_equal(symlink("nowhere/postdata_1.bin", path), 0);
    assert_int_equal(hf_space_get_status(&st, dir, &err), HF_E_STATE);
    assert_non_null(strstr(err.message, "postdata_1.bin"));
    assert_non_null(strstr(err.message, "mount"));
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/postdata_metadata.json", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("nowhere/postdata_metadata.json", path), 0);
    hf_context *ctx;
    hf_space_plan plan = {.size = sizeof plan};
    hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
    o.node_id = m.node_id;
    o.commitment_atx_id = m.commitment_atx_id;
    o.num_units = m.num_units;
    o.labels_per_unit = m.labels_per_unit;
    assert_int_equal(hf_context_open(&ctx, NULL, &err), HF_OK);
    assert_int_equal(hf_space_init_plan(ctx, &plan, dir, &o, &err), HF_E_IO);
    hf_context_close(ctx);
    clean(dir);
}

static void test_status_counts(void **state)
{
    (void)state;
    static const uint8_t zeros[9000];
    char dir[64];
    hf_space_meta m = small_meta(); /* 512, 512, 476 labels */
    hf_space_status st = {.size = sizeof st};
    hf_error err;
    make_dir(dir);
    assert_int_equal(hf_space_get_status(&st, dir, &err), HF_E_IO);
    assert_int_equal(hfi_meta_save(&m, &env, dir, NULL), HF_OK);
    put(dir, "postdata_0.bin", zeros, 8192);
    put(dir, "postdata_1.bin", zeros, 100 * 16 + 7);
    put(dir, "postdata_2.bin", zeros, 476 * 16 + 3);
    put(dir, "postdata_3.bin", zeros, 17);
    put(dir, "postdata_99999999999999999999.bin", zeros, 1);
    put(dir, "postdata_01.bin", zeros, 5);
    put(dir, "postdata_.bin", zeros, 5);
    put(dir, "postdata_1.bin.bak", zeros, 5);
    assert_int_equal(hf_space_get_status(&st, dir, &err), HF_OK);
    assert_int_equal(st.labels_total, 1500);
    assert_int_equal(st.labels_stored, 512 + 100 + 476);
    assert_int_equal(st.files_total, 3);
    assert_int_equal(st.files_complete, 2);
    assert_int_equal(st.files_partial, 1);
    assert_int_equal(st.files_surplus, 2);
    assert_int_equal(st.bytes_surplus, 18);
    assert_int_equal(st.bytes_torn, 7);
    assert_int_equal(st.files_too_long, 1);
    assert_int_equal(st.first_incomplete, 1);
    assert_int_equal(st.scrypt_n, 0);
    assert_int_equal(st.writer_pid, 0);
    assert_false(st.writer_alive);

    hfi_sidecar s = {.scrypt_n = 4, .writer_pid = hfi_pid()};
    s.writer_start = hfi_process_start(hfi_pid());
    hfi_host_name(s.writer_host, sizeof s.writer_host);
    assert_int_equal(hfi_sidecar_save(&s, &env, dir, NULL), HF_OK);
    assert_int_equal(chmod(dir, 0500), 0);
    assert_int_equal(hf_space_get_status(&st, dir, &err), HF_OK);
    assert_int_equal(chmod(dir, 0700), 0);
    assert_int_equal(st.scrypt_n, 4);
    assert_true(st.writer_alive);
    s.writer_start++;
    assert_int_equal(hfi_sidecar_save(&s, &env, dir, NULL), HF_OK);
    assert_int_equal(hf_space_get_status(&st, dir, &err), HF_OK);
    assert_false(st.writer_alive);
    clean(dir);
}

static void test_status_arguments(void **state)
{
    (void)state;
    hf_space_status st = {.size = sizeof st};
    assert_int_equal(hf_space_get_status(NULL, "/", NULL), HF_E_ARGUMENT);
    assert_int_equal(hf_space_get_status(&st, NULL, NULL), HF_E_ARGUMENT);
    st.size = 0;
    assert_int_equal(hf_space_get_status(&st, "/", NULL), HF_E_ARGUMENT);
}

/* ---- networks ----------------------------------------------------------- */

static hf_status load_network(const char *dir, const char *text,
                              hf_space_network *n, hf_error *err)
{
    char path[128];
    put(dir, "net.json", text, strlen(text));
    (void)snprintf(path, sizeof path, "%s/net.json", dir);
    return hf_space_network_load(n, path, err);
}

static void test_networks(void **state)
{
    (void)state;
    char dir[64];
    hf_space_network n;
    hf_space_network main_net;
    hf_error err;
    make_dir(dir);
    hf_space_network_mainnet(&main_net);
    assert_int_equal(main_net.k1, 26);
    assert_int_equal(main_net.pow_difficulty[7], 0x4b);
    assert_int_equal(main_net.pow_difficulty[8], 0);
    assert_int_equal(load_network(dir, "{}", &n, &err), HF_OK);
    assert_memory_equal(&n, &main_net, sizeof n);
    assert_int_equal(
        load_network(dir,
                     "{\"min_units\":1,\"max_units\":2,\"labels_per_unit\":512,"
                     "\"scrypt_n\":2,\"k1\":3,\"k2\":4,\"pow_difficulty\":"
                     "\"00000000000000000000000000000000"
                     "000000000000000000000000000000ff\"}",
                     &n, &err),
        HF_OK);
    assert_int_equal(n.min_units, 1);
    assert_int_equal(n.max_units, 2);
    assert_int_equal(n.labels_per_unit, 512);
    assert_int_equal(n.scrypt_n, 2);
    assert_int_equal(n.k1, 3);
    assert_int_equal(n.k2, 4);
    assert_int_equal(n.pow_difficulty[31], 0xff);
    assert_int_equal(n.pow_difficulty[1], 0);
    static const char *const bad[][2] = {
        {"{\"k3\":1}", "k3"},
        {"{\"k1\":-1}", "k1"},
        {"{\"k2\":4294967296}", "4294967296"},
        {"{\"scrypt_n\":3}", "scrypt_n"},
        {"{\"labels_per_unit\":0}", "labels_per_unit"},
        {"{\"pow_difficulty\":\"00\"}", "pow_difficulty"},
        {"{\"min_units\":9,\"max_units\":8}", "above max_units 8"},
        {"[]", "object"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(load_network(dir, bad[i][0], &n, &err), HF_E_FORMAT);
        assert_non_null(strstr(err.message, bad[i][1]));
    }
    assert_int_equal(hf_space_network_load(&n, "/nowhere", &err), HF_E_IO);
    assert_int_equal(hf_space_network_load(NULL, "/", &err), HF_E_ARGUMENT);
    assert_int_equal(hf_space_network_load(&n, NULL, &err), HF_E_ARGUMENT);
    hf_space_network_mainnet(NULL);
    clean(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout_shares),
        cmocka_unit_test(test_layout_refuses),
        cmocka_unit_test(test_meta_bytes),
        cmocka_unit_test(test_meta_members),
        cmocka_unit_test(test_meta_optional),
        cmocka_unit_test(test_meta_refuses),
        cmocka_unit_test(test_ranges_as_sets),
        cmocka_unit_test(test_sidecar_round_trip),
        cmocka_unit_test(test_sidecar_refuses),
        cmocka_unit_test(test_sidecar_newer_stays),
        cmocka_unit_test(test_links_to_nothing),
        cmocka_unit_test(test_status_counts),
        cmocka_unit_test(test_status_arguments),
        cmocka_unit_test(test_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

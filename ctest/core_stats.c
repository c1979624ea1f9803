/* core.stats: names, sums, and percentiles against sorted samples. */
#include "core/stats.h"

#include "check.h"

#include <inttypes.h>
#include <string.h>

static void test_names(void)
{
    for (int i = 0; i < ORIEL_PATH_COUNT; i++)
        CHECK(oriel_path_names[i] && oriel_path_meanings[i][0], "path %d has a name",
              i);
    for (int i = 0; i < ORIEL_REASON_COUNT; i++) {
        CHECK(oriel_reason_names[i] && oriel_reason_meanings[i][0],
              "reason %d has a name", i);
        for (int j = 0; j < i; j++)
            CHECK(strcmp(oriel_reason_names[i], oriel_reason_names[j]) != 0,
                  "%s is one reason", oriel_reason_names[i]);
    }
    CHECK(strcmp(oriel_reason_names[ORIEL_SERVED], "served") == 0, "0 is served");
    CHECK(strcmp(oriel_reason_names[ORIEL_NATIVE_lazy_lock], "lazy-lock") == 0,
          "a reason's name is its own");
}

static void test_edges(void)
{
    static struct oriel_hist hist;
    uint64_t last = 0;
    for (int shift = 0; shift < 42; shift++) {
        for (int k = 0; k < 16; k++) {
            uint64_t ns = ((uint64_t)1 << shift) + ((uint64_t)k << shift) / 16;
            memset(&hist, 0, sizeof hist);
            oriel_hist_add(&hist, ns);
            uint64_t got = oriel_hist_quantile(&hist, 0.5);
            CHECK(got >= ns && got - ns <= ns / 8,
                  "%" PRIu64 " ns is told as %" PRIu64 ", within 12.5 %%", ns, got);
            CHECK(got >= last, "buckets rise with the value");
            last = got;
        }
    }
    memset(&hist, 0, sizeof hist);
    CHECK(oriel_hist_quantile(&hist, 0.5) == 0, "an empty histogram answers 0");
    oriel_hist_add(&hist, UINT64_MAX);
    oriel_hist_add(&hist, (uint64_t)1 << 42);
    CHECK(oriel_hist_count(&hist) == 2 && hist.bucket[ORIEL_HIST_BUCKETS - 1] == 2,
          "the last bucket takes what is longer");
    memset(&hist, 0, sizeof hist);
    oriel_hist_add(&hist, 0);
    CHECK(oriel_hist_quantile(&hist, 1) == 0 && hist.bucket[0] == 1, "0 ns is 0 ns");
}

static void test_quantiles(void)
{
    static struct oriel_hist hist;
    for (uint64_t ns = 1; ns <= 1000; ns++)
        oriel_hist_add(&hist, ns);
    static const double q[] = {0, 0.001, 0.5, 0.9, 0.99, 0.999, 1};
    static const uint64_t exact[] = {1, 1, 500, 900, 990, 999, 1000};
    for (int i = 0; i < 7; i++) {
        uint64_t got = oriel_hist_quantile(&hist, q[i]);
        CHECK(got >= exact[i] && got - exact[i] <= exact[i] / 8,
              "the %g quantile of 1..1000 is %" PRIu64 " (%" PRIu64 ")", q[i], exact[i],
              got);
    }
    CHECK(oriel_hist_count(&hist) == 1000, "all are counted");
}

static void test_sums(void)
{
    static struct oriel_stats a, b;
    uint64_t *a_words = (uint64_t *)&a, *b_words = (uint64_t *)&b;
    size_t words = sizeof a / sizeof *a_words;
    for (size_t i = 0; i < words; i++) {
        a_words[i] = i;
        b_words[i] = 1000 * i;
    }
    oriel_stats_sum(&a, &b);
    size_t wrong = 0;
    for (size_t i = 0; i < words; i++)
        wrong += a_words[i] != 1001 * i;
    CHECK(wrong == 0, "every counter is summed");

    memset(&a, 0, sizeof a);
    a.path[ORIEL_PATH_self] = 1;
    a.path[ORIEL_PATH_mapped] = 10;
    a.path[ORIEL_PATH_cma] = 100;
    a.native[ORIEL_NATIVE_no_epoch] = 3;
    a.native[ORIEL_REASON_COUNT - 1] = 4;
    CHECK(oriel_stats_redirected(&a) == 111, "redirected is the sum of the paths");
    CHECK(oriel_stats_native(&a) == 7, "native is the sum of the reasons");
}

int main(void)
{
    test_names();
    test_edges();
    test_quantiles();
    test_sums();
    return check_done();
}

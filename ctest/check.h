/*
 * check.h - assertions of the C tests.
 *
 *   CHECK(sum == 3, "the counters of both windows add up (%d)", sum);
 *   return check_done();
 *
 * A failed CHECK prints its place and its sentence and the test goes on; check_done
 * gives the exit code. check_skip ends a test that cannot run here (exit 77).
 */
#ifndef ORIEL_CTEST_CHECK_H
#define ORIEL_CTEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>

enum { CHECK_EXIT_SKIP = 77 };

/* Weak: one of each, in however many files a test has. */
__attribute__((weak)) int check_count;
__attribute__((weak)) int check_failures;

#define CHECK(condition, ...)                                                          \
    do {                                                                               \
        __atomic_add_fetch(&check_count, 1, __ATOMIC_RELAXED);                         \
        if (!(condition)) {                                                            \
            __atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED);                  \
            fprintf(stderr, "%s:%d: not so: ", __FILE__, __LINE__);                    \
            fprintf(stderr, __VA_ARGS__);                                              \
            fprintf(stderr, "  [%s]\n", #condition);                                   \
        }                                                                              \
    } while (0)

/* As CHECK, for what the rest of the test cannot do without. */
#define REQUIRE(condition, ...)                                                        \
    do {                                                                               \
        CHECK(condition, __VA_ARGS__);                                                 \
        if (check_failures) exit(1);                                                   \
    } while (0)

static inline int check_done(void)
{
    if (check_count == 0) {
        fprintf(stderr, "no check was made\n");
        return 1;
    }
    printf("%d checks, %d failed\n", check_count, check_failures);
    return check_failures ? 1 : 0;
}

__attribute__((noreturn)) static inline void check_skip(const char *reason)
{
    printf("skipped: %s\n", reason);
    exit(CHECK_EXIT_SKIP);
}

#endif

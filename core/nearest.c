/*
 * nearest.c - edit distance between short names.
 */
#include "core/nearest.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { NAME_MAX_BYTES = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that make a into b.
 * Both at most NAME_MAX_BYTES long. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    size_t a_bytes = strlen(a), b_bytes = strlen(b);
    for (size_t j = 0; j <= b_bytes; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_bytes; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3],
               *before = rows[(i + 1) % 3];
        int x = toupper((unsigned char)a[i - 1]);
        int x_last = i > 1 ? toupper((unsigned char)a[i - 2]) : 0;
        now[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            int y = toupper((unsigned char)b[j - 1]);
            int y_last = j > 1 ? toupper((unsigned char)b[j - 2]) : 0;
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == y_last && x_last == y)
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return rows[a_bytes % 3][b_bytes];
}

size_t oriel_nearest(const char *word, const char *const *names, size_t n)
{
    size_t best = n, best_cost = SIZE_MAX, word_bytes = strlen(word);
    if (word_bytes == 0 || word_bytes > NAME_MAX_BYTES) return n;
    for (size_t i = 0; i < n; i++) {
        size_t name_bytes = names[i] ? strlen(names[i]) : 0;
        if (name_bytes == 0 || name_bytes > NAME_MAX_BYTES) continue;
        size_t shorter = least(word_bytes, name_bytes);
        size_t cost = distance(word, names[i]);
        /* "TIMEOUT" for "TIMEOUT_S": the start of a name counts as one slip. */
        if (shorter >= 3 && strncasecmp(word, names[i], shorter) == 0)
            cost = least(cost, 1);
        if (cost > 1 + shorter / 4 || cost >= shorter) continue;
        if (cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    return best;
}

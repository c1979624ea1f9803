/*
 * words.h - lists of words such as an argv, and what is done with single ones. The
 * command ends with a message when memory runs out.
 */
#ifndef ORIEL_WORDS_H
#define ORIEL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct oriel_words {
    char **items; /* owned, each on its own; items[n] is NULL once one was added */
    size_t n, capacity;
};
void oriel_words_add(struct oriel_words *words, const char *word);
void oriel_words_addf(struct oriel_words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void oriel_words_fini(struct oriel_words *words);

/* A text of its own; the caller frees it. */
char *oriel_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What follows the last slash. */
const char *oriel_base_name(const char *path);

/* The word as a shell would have to be given it; the caller frees it. */
char *oriel_quoted(const char *word);

#endif

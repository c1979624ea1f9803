/*
 * words.c - lists of words.
 */
#define _GNU_SOURCE 1

#include "tools/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (!memory) {
        fputs("oriel: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Takes the word over. */
static void append(struct oriel_words *words, char *word)
{
    if (words->n + 1 >= words->capacity) {
        words->capacity = words->capacity ? 2 * words->capacity : 16;
        words->items = checked(
            reallocarray(words->items, words->capacity, sizeof words->items[0]));
    }
    words->items[words->n++] = word;
    words->items[words->n] = NULL;
}

void oriel_words_add(struct oriel_words *words, const char *word)
{
    append(words, checked(strdup(word)));
}

void oriel_words_addf(struct oriel_words *words, const char *format, ...)
{
    char *word = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&word, format, arguments) < 0) word = NULL;
    va_end(arguments);
    append(words, checked(word));
}

void oriel_words_fini(struct oriel_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct oriel_words){0};
}

char *oriel_text(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    return checked(text);
}

const char *oriel_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *oriel_quoted(const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789_./:,=@%+-";
    size_t bytes = strlen(word);
    if (bytes > 0 && strspn(word, safe) == bytes) return checked(strdup(word));
    char *quoted = checked(malloc(4 * bytes + 3)), *to = quoted;
    *to++ = '\'';
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            to = stpcpy(to, "'\\''");
        else
            *to++ = *word;
    }
    *to++ = '\'';
    *to = '\0';
    return quoted;
}

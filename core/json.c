/*
 * json.c - writes JSON.
 */
#include "core/json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Bytes of the UTF-8 character at text; 0 when it is none. */
static size_t utf8_bytes(const unsigned char *text)
{
    size_t bytes;
    uint32_t code, least;
    if (text[0] < 0x80) return 1;
    if ((text[0] & 0xe0) == 0xc0) {
        bytes = 2, code = text[0] & 0x1f, least = 0x80;
    } else if ((text[0] & 0xf0) == 0xe0) {
        bytes = 3, code = text[0] & 0x0f, least = 0x800;
    } else if ((text[0] & 0xf8) == 0xf0) {
        bytes = 4, code = text[0] & 0x07, least = 0x10000;
    } else {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least || code > 0x10ffff || surrogate ? 0 : bytes;
}

static void put_string(FILE *file, const char *text)
{
    putc('"', file);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t bytes = utf8_bytes(at);
        if (bytes == 0) {
            fputs("\\ufffd", file);
            bytes = 1;
        } else if (*at == '"' || *at == '\\') {
            fprintf(file, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            fprintf(file, "\\u%04x", *at);
        } else {
            fwrite(at, 1, bytes, file);
        }
        at += bytes;
    }
    putc('"', file);
}

static void put_newline(const struct oriel_json *json)
{
    fprintf(json->file, "\n%*s", (int)(2 * json->depth), "");
}

static void put_key(struct oriel_json *json, const char *key)
{
    if (json->comma) putc(',', json->file);
    if (json->depth > 0) put_newline(json);
    if (key) {
        put_string(json->file, key);
        fputs(": ", json->file);
    }
    json->comma = true;
}

void oriel_json_begin(struct oriel_json *json, FILE *file)
{
    *json = (struct oriel_json){.file = file};
}

static void open_value(struct oriel_json *json, const char *key, bool is_array)
{
    assert(json->depth < 64);
    put_key(json, key);
    putc(is_array ? '[' : '{', json->file);
    uint64_t bit = (uint64_t)1 << json->depth;
    json->arrays = is_array ? json->arrays | bit : json->arrays & ~bit;
    json->depth++;
    json->comma = false;
}

void oriel_json_object(struct oriel_json *json, const char *key)
{
    open_value(json, key, false);
}

void oriel_json_array(struct oriel_json *json, const char *key)
{
    open_value(json, key, true);
}

void oriel_json_end(struct oriel_json *json)
{
    assert(json->depth > 0);
    json->depth--;
    if (json->comma) put_newline(json);
    putc(json->arrays >> json->depth & 1 ? ']' : '}', json->file);
    json->comma = true;
    if (json->depth == 0) putc('\n', json->file);
}

void oriel_json_text(struct oriel_json *json, const char *key, const char *value)
{
    if (!value) {
        oriel_json_null(json, key);
        return;
    }
    put_key(json, key);
    put_string(json->file, value);
}

void oriel_json_count(struct oriel_json *json, const char *key, uint64_t value)
{
    put_key(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

void oriel_json_flag(struct oriel_json *json, const char *key, bool value)
{
    put_key(json, key);
    fputs(value ? "true" : "false", json->file);
}

void oriel_json_null(struct oriel_json *json, const char *key)
{
    put_key(json, key);
    fputs("null", json->file);
}

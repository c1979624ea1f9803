/*
 * vni.c - the virtual networks of HPE Slingshot.
 */
#include "core/vni.h"

#include "core/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURE "--network=single_node_vni,job_vni"

static bool is_between(char c)
{
    return c == ',' || c == ':';
}

static int parse_id(const char **at, unsigned long most, unsigned long *out)
{
    unsigned long id = 0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        if (id <= most) id = 10 * id + (unsigned long)(**at - '0');
    if (*at == start || id > most) return -EINVAL;
    *out = id;
    return 0;
}

static bool has(const struct oriel_vni_list *list, uint16_t id)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->ids[i] == id) return true;
    return false;
}

int oriel_vni_parse(const char *text, struct oriel_vni_list *out)
{
    struct oriel_vni_list list = {.n = 0};
    for (const char *at = text ? text : ""; *at != '\0';) {
        unsigned long id;
        if (parse_id(&at, UINT16_MAX, &id) || id == 0) return -EINVAL;
        if (*at != '\0' && (!is_between(*at) || *++at == '\0')) return -EINVAL;
        if (has(&list, (uint16_t)id)) continue;
        if (list.n == ORIEL_VNI_MAX) return -E2BIG;
        list.ids[list.n++] = (uint16_t)id;
    }
    *out = list;
    return 0;
}

int oriel_vni_own(struct oriel_vni_list *out)
{
    return oriel_vni_parse(getenv("SLINGSHOT_VNIS"), out);
}

int oriel_vni_prefer(const struct oriel_vni_list *list, uint16_t *out,
                     char why[ORIEL_VNI_WHY_BYTES])
{
    if (list->n == 0) {
        snprintf(why, ORIEL_VNI_WHY_BYTES,
                 "this process was given no Slingshot VNI (SLINGSHOT_VNIS is not set): "
                 "ask for the job with " CURE);
        return -ENOENT;
    }
    *out = list->ids[list->n - 1];
    return 0;
}

static void format(const struct oriel_vni_list *list, char *out, size_t out_bytes)
{
    size_t used = 0;
    snprintf(out, out_bytes, "none");
    for (size_t i = 0; i < list->n && used < out_bytes; i++) {
        int n = snprintf(out + used, out_bytes - used, "%s%u", i > 0 ? "," : "",
                         (unsigned)list->ids[i]);
        used += (size_t)n;
    }
}

int oriel_vni_common(const struct oriel_vni_list *publisher,
                     const struct oriel_vni_list *reader, uint16_t *out,
                     char why[ORIEL_VNI_WHY_BYTES])
{
    for (size_t i = publisher->n; i-- > 0;) {
        if (!has(reader, publisher->ids[i])) continue;
        *out = publisher->ids[i];
        return 0;
    }
    char theirs[ORIEL_VNI_MAX * 6 + 1], ours[ORIEL_VNI_MAX * 6 + 1];
    format(publisher, theirs, sizeof theirs);
    format(reader, ours, sizeof ours);
    snprintf(why, ORIEL_VNI_WHY_BYTES,
             "no Slingshot VNI in common: the publisher has %s, this process has %s; "
             "steps of one job share one when the job asks for " CURE
             ", two jobs need one that the site gives to both",
             theirs, ours);
    return -ENOENT;
}

int oriel_vni_service(const char *devices, const char *services, const char *device,
                      uint32_t *out)
{
    size_t bytes = strlen(device), place = 0;
    const char *at = devices ? devices : "";
    for (; *at != '\0'; place++) {
        size_t word = strcspn(at, ",");
        if (word == bytes && memcmp(at, device, bytes) == 0) break;
        at += word + (at[word] == ',');
    }
    if (*at == '\0' || !services) return -ENOENT;
    for (const char *id = services;; id++) {
        unsigned long service;
        if (parse_id(&id, UINT32_MAX, &service)) return -EINVAL;
        if (place-- == 0) {
            *out = (uint32_t)service;
            return 0;
        }
        if (*id != ',') return -EINVAL;
    }
}

bool oriel_vni_explain(const char *provider, const char *call, int error,
                       char out[ORIEL_VNI_WHY_BYTES])
{
    int code = error < 0 ? -error : error;
    if (!provider || strstr(provider, "cxi") == NULL || code != ENOSYS) return false;
    snprintf(out, ORIEL_VNI_WHY_BYTES,
             "%s of provider cxi failed with -%d (%s): a step on one node gets no "
             "Slingshot service unless it asks for single_node_vni; start the job "
             "with " CURE,
             call, code, oriel_strerror(code));
    return true;
}

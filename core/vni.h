/*
 * vni.h - the virtual networks (VNIs) of HPE Slingshot.
 *
 * Two endpoints of libfabric's cxi provider reach each other only on a VNI that both
 * may use. The launcher hands them out in the environment: SLINGSHOT_VNIS, the step's
 * own first and one of the whole job behind it where --network=job_vni was asked for;
 * SLINGSHOT_DEVICES and SLINGSHOT_SVC_IDS, the devices and the service of each.
 */
#ifndef ORIEL_VNI_H
#define ORIEL_VNI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORIEL_VNI_MAX = 16, ORIEL_VNI_WHY_BYTES = 512 };

struct oriel_vni_list {
    uint16_t ids[ORIEL_VNI_MAX];
    size_t n;
};

/* Parse numbers from 1 to 65535 with commas or colons between them; NULL or an empty
 * text is no VNI. Returns 0; -EINVAL; -E2BIG more than ORIEL_VNI_MAX. */
int oriel_vni_parse(const char *text, struct oriel_vni_list *out);

/* What SLINGSHOT_VNIS gives to this process. Returns as parse. */
int oriel_vni_own(struct oriel_vni_list *out);

/* The VNI to open an endpoint on that others will look for: the last of the list, which
 * is the job's where there is one, and so is known to the job's other steps. Returns 0;
 * -ENOENT, and why says what is missing. */
int oriel_vni_prefer(const struct oriel_vni_list *list, uint16_t *out,
                     char why[ORIEL_VNI_WHY_BYTES]);

/* The VNI on which a reader reaches a publisher: of those that both have, the last one
 * in the publisher's list, so that both sides come to the same. Returns 0; -ENOENT, and
 * why names both lists and the cure. */
int oriel_vni_common(const struct oriel_vni_list *publisher,
                     const struct oriel_vni_list *reader, uint16_t *out,
                     char why[ORIEL_VNI_WHY_BYTES]);

/* The service of a device such as "cxi0": the entry of services (SLINGSHOT_SVC_IDS) at
 * its place in devices (SLINGSHOT_DEVICES). Returns 0; -ENOENT the device is not in the
 * list; -EINVAL. */
int oriel_vni_service(const char *devices, const char *services, const char *device,
                      uint32_t *out);

/* What a failure of libfabric means on Slingshot, for the engine to hand on. call is
 * the function that failed ("fi_domain"), error its -errno. False, and out untouched,
 * when nothing is known of it: the provider is another one, or the error. */
bool oriel_vni_explain(const char *provider, const char *call, int error,
                       char out[ORIEL_VNI_WHY_BYTES]);

#endif

/* core.err: every error number has a text, from any thread. */
#include "core/err.h"

#include "check.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

int main(void)
{
    CHECK(strcmp(oriel_strerror(-ETIMEDOUT), strerror(ETIMEDOUT)) == 0,
          "a -errno has the system's text: %s", oriel_strerror(-ETIMEDOUT));
    CHECK(strcmp(oriel_strerror(ETIMEDOUT), strerror(ETIMEDOUT)) == 0,
          "a positive errno is understood as well");
    CHECK(strcmp(oriel_strerror(0), strerror(0)) == 0, "0 has a text");
    CHECK(strstr(oriel_strerror(-ORIEL_EGONE), "gone"), "gone has a text of ours");
    CHECK(strstr(oriel_strerror(-ORIEL_ECHANGED), "changed"), "changed has a text");
    CHECK(strstr(oriel_strerror(-ORIEL_ENONCE), "stale"), "stale has a text");
    CHECK(strstr(oriel_strerror(-99999), "99999"), "an unknown number is shown");
    CHECK(oriel_strerror(INT_MIN) != NULL, "the most negative number is survived");
    return check_done();
}

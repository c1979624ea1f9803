/* core.epoch: what a read may rely on after each sequence of synchronisation calls. */
#include "core/epoch.h"

#include "check.h"

static const struct oriel_epoch_rules held = {true, true, true, false};
static const struct oriel_epoch_rules lazy = {false, true, true, false};
static const struct oriel_epoch_rules weak = {false, false, true, false};
static const struct oriel_epoch_rules stable = {true, true, true, true};
static const struct oriel_epoch_rules seen_in_part = {true, true, false, true};

static struct oriel_epoch *create(const struct oriel_epoch_rules *rules)
{
    struct oriel_epoch *epoch = oriel_epoch_create(4, 0, rules);
    REQUIRE(epoch, "an epoch is created");
    return epoch;
}

static void test_locks(void)
{
    struct oriel_epoch *e = create(&held);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_no_epoch, "nothing is open at first");
    oriel_epoch_lock(e, 1, 0);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_SERVED, "a held lock serves its target");
    CHECK(oriel_epoch_read(e, 2) == ORIEL_NATIVE_no_epoch, "and no other");
    oriel_epoch_unlock(e, 1);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_no_epoch, "not after the unlock");
    oriel_epoch_lock_all(e, 0);
    CHECK(oriel_epoch_read(e, 3) == ORIEL_SERVED, "lock_all serves every target");
    oriel_epoch_unlock_all(e);
    CHECK(oriel_epoch_read(e, 3) == ORIEL_NATIVE_no_epoch, "until unlock_all");
    oriel_epoch_destroy(e);
}

static void test_lazy(void)
{
    struct oriel_epoch *e = create(&lazy);
    oriel_epoch_lock(e, 1, 0);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_lazy_lock,
          "a lazy lock proves nothing");
    oriel_epoch_prove(e, 1);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_lazy_lock,
          "nor does a flush with nothing before it");
    oriel_epoch_use(e, 1);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_lazy_lock, "nor a transfer alone");
    oriel_epoch_prove(e, 1);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_SERVED, "transfer and flush do");
    oriel_epoch_unlock(e, 1);
    oriel_epoch_lock(e, 1, 0);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_lazy_lock,
          "the next lock starts anew");
    oriel_epoch_unlock(e, 1);

    oriel_epoch_lock_all(e, 0);
    oriel_epoch_use(e, 2);
    oriel_epoch_prove(e, -1);
    CHECK(oriel_epoch_read(e, 2) == ORIEL_SERVED, "lock_all is proven for each target");
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_lazy_lock, "by itself");
    oriel_epoch_unlock_all(e);
    oriel_epoch_lock_all(e, 0);
    CHECK(oriel_epoch_read(e, 2) == ORIEL_NATIVE_lazy_lock, "and for one epoch only");
    oriel_epoch_unlock_all(e);
    oriel_epoch_lock(e, 1, ORIEL_LOCK_NOCHECK);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_SERVED, "NOCHECK needs no lock at all");
    oriel_epoch_destroy(e);
}

static void test_fence(void)
{
    struct oriel_epoch *e = create(&held);
    oriel_epoch_fence(e, false, false);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_SERVED, "a fence that is a barrier serves");
    oriel_epoch_fence(e, true, false);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_fence, "NOPRECEDE is no barrier");
    oriel_epoch_fence(e, false, true);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_no_epoch, "NOSUCCEED ends the epochs");
    oriel_epoch_fence(e, false, false);
    oriel_epoch_lock(e, 1, 0);
    oriel_epoch_unlock(e, 1);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_no_epoch,
          "a lock ends the fence epoch natively, too");
    oriel_epoch_destroy(e);

    e = create(&weak);
    oriel_epoch_fence(e, false, false);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_fence,
          "a library whose fence is no barrier is not trusted");
    oriel_epoch_destroy(e);
}

static void test_pscw(void)
{
    struct oriel_epoch *e = create(&held);
    oriel_epoch_start(e);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_pscw,
          "start and complete stay native");
    CHECK(!oriel_epoch_elides_lock(e, 1, ORIEL_LOCK_NOCHECK),
          "nothing is elided there");
    oriel_epoch_complete(e);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_no_epoch, "until complete");
    oriel_epoch_destroy(e);
}

static void test_dirty(void)
{
    struct oriel_epoch *e = create(&held);
    oriel_epoch_lock_all(e, 0);
    CHECK(!oriel_epoch_clean(e, -1), "nothing is dirty at first");
    oriel_epoch_update(e, 1);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_dirty, "an update makes dirty");
    CHECK(oriel_epoch_read(e, 2) == ORIEL_SERVED, "its own target only");
    CHECK(!oriel_epoch_clean(e, 2), "another target's flush cleans nothing");
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_dirty, "and leaves it dirty");
    CHECK(oriel_epoch_clean(e, 1), "its own flush cleans it");
    CHECK(oriel_epoch_read(e, 1) == ORIEL_SERVED, "then it is served");
    oriel_epoch_soil(e, 1);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_NATIVE_dirty, "a flush that failed does not");
    CHECK(oriel_epoch_clean(e, -1), "flush_all cleans all");
    CHECK(oriel_epoch_read(e, 1) == ORIEL_SERVED, "of them");
    oriel_epoch_update(e, -2);
    oriel_epoch_update(e, 4);
    CHECK(!oriel_epoch_clean(e, -1), "ranks outside the window are ignored");
    oriel_epoch_destroy(e);
}

static void test_elision(void)
{
    const unsigned shared = 0, exclusive = ORIEL_LOCK_EXCLUSIVE;
    const unsigned nocheck = ORIEL_LOCK_NOCHECK;
    struct oriel_epoch *e = create(&held);
    CHECK(!oriel_epoch_elides_lock(e, 1, shared), "a general window needs its lock");
    CHECK(oriel_epoch_elides_lock(e, 1, nocheck), "NOCHECK does not");
    CHECK(oriel_epoch_elides_lock(e, 1, nocheck | exclusive), "exclusive neither");
    CHECK(!oriel_epoch_elides_lock(e, 0, nocheck), "the own rank's is always taken");
    CHECK(!oriel_epoch_elides_lock(e, 4, nocheck), "a rank outside is for native");
    oriel_epoch_destroy(e);

    e = create(&seen_in_part);
    CHECK(!oriel_epoch_elides_lock(e, 1, nocheck) && !oriel_epoch_elides_all(e, 0),
          "nothing is elided where some calls pass unseen");
    oriel_epoch_destroy(e);

    e = create(&stable);
    CHECK(oriel_epoch_elides_lock(e, 1, shared),
          "a fenced window needs no shared lock");
    CHECK(!oriel_epoch_elides_lock(e, 1, exclusive), "an exclusive one it does");
    CHECK(oriel_epoch_elides_all(e, shared), "nor lock_all");
    oriel_epoch_fence(e, false, false);
    CHECK(!oriel_epoch_elides_lock(e, 1, shared),
          "the first lock after a fence is native: it closes the fence epoch");
    oriel_epoch_lock(e, 1, shared);
    oriel_epoch_unlock(e, 1);
    CHECK(oriel_epoch_elides_lock(e, 1, shared), "the next is elided");

    oriel_epoch_lock(e, 1, ORIEL_LOCK_ELIDED);
    CHECK(oriel_epoch_read(e, 1) == ORIEL_SERVED, "an elided lock serves");
    CHECK(e->elided == 1, "and is counted");
    CHECK(!oriel_epoch_elides_lock(e, 1, shared), "a second lock of it is for native");
    CHECK(!oriel_epoch_elides_all(e, shared), "lock_all beside it as well");
    oriel_epoch_lock_taken(e, 1);
    CHECK(e->elided == 0, "taken natively, it is elided no more");
    CHECK(oriel_epoch_read(e, 1) == ORIEL_SERVED, "and is still held");
    oriel_epoch_unlock(e, 1);
    CHECK(e->elided == 0 && e->locks == 0, "nothing is left");
    oriel_epoch_lock_all(e, ORIEL_LOCK_ELIDED);
    CHECK(!oriel_epoch_elides_lock(e, 1, shared), "a lock inside lock_all is an error");
    oriel_epoch_all_taken(e);
    oriel_epoch_all_taken(e);
    CHECK(e->elided == 0, "taking twice counts once");
    oriel_epoch_unlock_all(e);
    oriel_epoch_destroy(e);
}

int main(void)
{
    test_locks();
    test_lazy();
    test_fence();
    test_pscw();
    test_dirty();
    test_elision();
    return check_done();
}

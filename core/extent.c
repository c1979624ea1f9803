#include "core/extent.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static size_t widest(const struct oriel_extent *node)
{
    return node ? node->widest : 0;
}

static void pull(struct oriel_extent *node)
{
    size_t most = node->refs ? 0 : node->bytes;

    if (widest(node->left) > most) most = widest(node->left);
    if (widest(node->right) > most) most = widest(node->right);
    node->widest = most;
}

/* Every node of a is below every node of b. Depth is logarithmic in expectation,
 * as in all treaps, so recursion is safe. */
static struct oriel_extent *join(struct oriel_extent *a, struct oriel_extent *b)
{
    if (!a || !b) return a ? a : b;
    if (a->priority > b->priority) {
        a->right = join(a->right, b);
        pull(a);
        return a;
    }
    b->left = join(a, b->left);
    pull(b);
    return b;
}

static void split(struct oriel_extent *node, uintptr_t start,
                  struct oriel_extent **below, struct oriel_extent **rest)
{
    if (!node) {
        *below = *rest = NULL;
    } else if (node->start < start) {
        split(node->right, start, &node->right, rest);
        *below = node;
        pull(node);
    } else {
        split(node->left, start, below, &node->left);
        *rest = node;
        pull(node);
    }
}

static void insert(struct oriel_extents *tree, struct oriel_extent *node)
{
    struct oriel_extent *below, *rest;

    node->left = node->right = NULL;
    pull(node);
    split(tree->root, node->start, &below, &rest);
    tree->root = join(join(below, node), rest);
}

static struct oriel_extent *cut(struct oriel_extent *root, struct oriel_extent *node)
{
    if (root == node) return join(node->left, node->right);
    assert(root);
    if (node->start < root->start)
        root->left = cut(root->left, node);
    else
        root->right = cut(root->right, node);
    pull(root);
    return root;
}

/* The node's own bytes or refs changed: renew what its ancestors say. */
static void renew(struct oriel_extent *root, const struct oriel_extent *node)
{
    if (root != node) renew(node->start < root->start ? root->left : root->right, node);
    pull(root);
}

static struct oriel_extent *create(struct oriel_extents *tree, void *segment,
                                   uintptr_t start, size_t bytes, uint32_t refs)
{
    struct oriel_extent *node = calloc(1, sizeof *node);

    if (!node) return NULL;
    tree->seed = tree->seed * 1664525u + 1013904223u;
    /* The low bits of such a generator are poor; the high ones decide first. */
    node->priority = tree->seed;
    node->segment = segment;
    node->start = start;
    node->bytes = bytes;
    node->refs = refs;
    node->owned = refs > 0;
    return node;
}

struct oriel_extent *oriel_extents_add(struct oriel_extents *tree, void *segment,
                                       uintptr_t start, size_t bytes, uint32_t refs)
{
    struct oriel_extent *node = create(tree, segment, start, bytes, refs);

    if (node) insert(tree, node);
    return node;
}

static struct oriel_extent *first_fit(struct oriel_extent *node, size_t bytes)
{
    if (widest(node) < bytes) return NULL;
    for (;;) {
        if (widest(node->left) >= bytes)
            node = node->left;
        else if (!node->refs && node->bytes >= bytes)
            return node;
        else
            node = node->right;
    }
}

int oriel_extents_take(struct oriel_extents *tree, size_t bytes,
                       struct oriel_extent **out)
{
    struct oriel_extent *space = first_fit(tree->root, bytes);
    struct oriel_extent *taken = space;

    if (!space) return -ENOSPC;
    if (space->bytes > bytes) {
        taken = create(tree, space->segment, space->start, bytes, 1);
        if (!taken) return -ENOMEM;
        /* The free rest keeps its place in the order, so its key may move. */
        space->start += bytes;
        space->bytes -= bytes;
        taken->prev = space->prev;
        taken->next = space;
        if (taken->prev) taken->prev->next = taken;
        space->prev = taken;
        renew(tree->root, space);
        insert(tree, taken);
    } else {
        taken->refs = 1;
        taken->owned = true;
        renew(tree->root, taken);
    }
    *out = taken;
    return 0;
}

struct oriel_extent *oriel_extents_find(const struct oriel_extents *tree,
                                        uintptr_t address)
{
    struct oriel_extent *node = tree->root;

    while (node) {
        if (address < node->start)
            node = node->left;
        else if (address - node->start >= node->bytes)
            node = node->right;
        else
            return node;
    }
    return NULL;
}

/* The later of two free neighbours disappears in the earlier. */
static void absorb(struct oriel_extents *tree, struct oriel_extent *into,
                   struct oriel_extent *gone)
{
    tree->root = cut(tree->root, gone);
    into->bytes += gone->bytes;
    into->next = gone->next;
    if (into->next) into->next->prev = into;
    free(gone);
}

struct oriel_extent *oriel_extents_release(struct oriel_extents *tree,
                                           struct oriel_extent *extent)
{
    extent->refs = 0;
    extent->owned = false;
    if (extent->next && !extent->next->refs) absorb(tree, extent, extent->next);
    if (extent->prev && !extent->prev->refs) {
        struct oriel_extent *into = extent->prev;

        absorb(tree, into, extent);
        extent = into;
    }
    renew(tree->root, extent);
    return extent;
}

void oriel_extents_remove(struct oriel_extents *tree, struct oriel_extent *extent)
{
    assert(!extent->prev && !extent->next);
    tree->root = cut(tree->root, extent);
    free(extent);
}

/*
 * tool.h - the commands of `oriel`, and how it ends.
 */
#ifndef ORIEL_TOOL_H
#define ORIEL_TOOL_H

#include <getopt.h>
#include <stddef.h>

enum {
    ORIEL_EXIT_FAILED = 1, /* understood, and could not be done */
    ORIEL_EXIT_USAGE = 2,  /* the command line is wrong */
    ORIEL_EXIT_NOT_EXECUTED = 126,
    ORIEL_EXIT_NOT_FOUND = 127,
};

struct oriel_command {
    const char *name;
    const char *summary; /* one line */
    const char *help;    /* the whole page */
    /* argv[0] is the command's name. Returns the exit code. */
    int (*run)(int argc, char **argv);
};

extern const struct oriel_command oriel_command_run, oriel_command_exec,
    oriel_command_config, oriel_command_info, oriel_command_nics;

/* Print the sentence and where to read on; returns ORIEL_EXIT_USAGE. */
int oriel_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A sentence on stderr: "oriel: ...". */
void oriel_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The message for what getopt_long has just refused: result is what it returned ('?'
 * or ':', with a leading ':' in its short options), word what it was looking at.
 * Returns ORIEL_EXIT_USAGE. */
int oriel_option_error(const char *command, int result, const char *word,
                       const struct option *options);

/* Ends with an error when stdout could not be written (a full disk, a closed pipe). */
int oriel_stdout_done(void);

#endif

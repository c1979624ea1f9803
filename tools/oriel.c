/*
 * oriel.c - the command: finds the subcommand and runs it.
 */
#include "tools/tool.h"

#include "core/nearest.h"
#include "core/version.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int run_help(int argc, char **argv);

static const char help_help[] =
    "usage: oriel help [COMMAND]\n"
    "\n"
    "Show the page of a command, or the list of commands.\n";
static const struct oriel_command command_help = {"help", "show the page of a command",
                                                  help_help, run_help};

static const struct oriel_command *const commands[] = {
    &oriel_command_run,  &oriel_command_exec, &oriel_command_config,
    &oriel_command_info, &oriel_command_nics, &command_help};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const struct oriel_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

void oriel_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("oriel: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

int oriel_usage_error(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("oriel", stderr);
    if (command) fprintf(stderr, " %s", command);
    fputs(": ", stderr);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nTry 'oriel help%s%s'.\n", command ? " " : "",
            command ? command : "");
    va_end(arguments);
    return ORIEL_EXIT_USAGE;
}

int oriel_option_error(const char *command, int result, const char *word,
                       const struct option *options)
{
    enum { LONGEST = 64, MOST = 32 };
    if (result == ':') return oriel_usage_error(command, "'%s' needs a value", word);
    if (optopt != 0 && strncmp(word, "--", 2) == 0)
        return oriel_usage_error(command, "'%s' takes no value", word);
    const char *names[MOST];
    char name[LONGEST];
    size_t n = 0;
    for (; n < MOST && options[n].name; n++)
        names[n] = options[n].name;
    const char *start = word + strspn(word, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
    size_t i = name[0] && name[1] ? oriel_nearest(name, names, n) : n;
    if (i < n)
        return oriel_usage_error(command, "no option '%s'; did you mean '--%s'?", word,
                                 names[i]);
    return oriel_usage_error(command, "no option '%s'", word);
}

int oriel_stdout_done(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    perror("oriel: stdout");
    return ORIEL_EXIT_FAILED;
}

static int unknown_command(const char *word)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    size_t i = oriel_nearest(word, names, COMMANDS);
    if (i < COMMANDS)
        return oriel_usage_error(NULL, "no command '%s'; did you mean '%s'?", word,
                                 names[i]);
    if (strncmp(word, "mpi", 3) == 0 || strcmp(word, "srun") == 0 || strchr(word, '/'))
        return oriel_usage_error(
            NULL, "no command '%s'; to run a program: oriel run -- %s ...", word, word);
    return oriel_usage_error(NULL, "no command '%s'", word);
}

static int show_commands(FILE *file)
{
    fputs(
        "usage: oriel COMMAND [OPTIONS]\n"
        "\n"
        "Oriel serves MPI_Get on windows over shared memory, without a change to the\n"
        "program: 'oriel run -- mpirun -n 4 ./program'.\n"
        "\n"
        "commands:\n",
        file);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(file, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs(
        "\n"
        "options:\n"
        "  --help     show this; 'oriel help COMMAND' shows a command's page\n"
        "  --version  show the version\n"
        "\n"
        "exit codes: 0 done, 1 could not be done, 2 wrong command line;\n"
        "'oriel run' and 'oriel exec' end as what they run, 126 when it could not be\n"
        "executed, 127 when it was not found\n",
        file);
    return oriel_stdout_done();
}

static int run_help(int argc, char **argv)
{
    if (argc < 2) return show_commands(stdout);
    if (argc > 2) return oriel_usage_error("help", "one command at a time");
    const struct oriel_command *command = find_command(argv[1]);
    if (!command) return unknown_command(argv[1]);
    fputs(command->help, stdout);
    return oriel_stdout_done();
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        show_commands(stderr);
        return ORIEL_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("oriel %s\n", ORIEL_VERSION);
        return oriel_stdout_done();
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return show_commands(stdout);
    if (word[0] == '-') return oriel_usage_error(NULL, "no option '%s'", word);
    const struct oriel_command *command = find_command(word);
    if (!command) return unknown_command(word);
    for (int i = 2; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
        fputs(command->help, stdout);
        return oriel_stdout_done();
    }
    return command->run(argc - 1, argv + 1);
}

/*
 * place_host.c - a program without MPI that opens a plugin with RTLD_LOCAL.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!plugin) {
        fprintf(stderr, "cannot open the plugin: %s\n",
                argc > 1 ? dlerror() : "no name");
        return 2;
    }
    int (*run)(int *, char ***);
    *(void **)&run = dlsym(plugin, "place_plugin_run");
    return run ? run(&argc, &argv) : 2;
}

#include <mpi.h>
void oriel_dummy(void);

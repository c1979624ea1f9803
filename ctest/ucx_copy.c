/* A library named as a Python wheel names its own libucp. */
int ucx_copy(void);
int ucx_copy(void)
{
    return 1;
}

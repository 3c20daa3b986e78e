/* Copies contiguous elements. Compilers use instructions for copies of known size, and a call for others. */
static void copy_@x_tag@(@x@ *restrict to, const @x@ *restrict from, int32_t count)
{
    enum { many = 16, some = 8 };
    int32_t i;
    if (count >= many) {
        for (i = 0; i < count - many; i += many) memcpy(to + i, from + i, many * sizeof *to);
        memcpy(to + count - many, from + count - many, many * sizeof *to);
    } else if (count >= some) {
        memcpy(to, from, some * sizeof *to);
        memcpy(to + count - some, from + count - some, some * sizeof *to);
    } else {
        for (i = 0; i < count; ++i) to[i] = from[i];
    }
}

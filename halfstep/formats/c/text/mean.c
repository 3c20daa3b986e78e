/* The sum of elements that are reduced to one. */
static @sum@ @mean@_sum(const @x@ *x, const axes *s, int32_t zero)
{
    @sum@ sum = 0;
    int32_t i, j, k, l;
    for (i = 0; i < s->shared[0]; ++i) {
        for (j = 0; j < s->shared[1]; ++j) {
            for (k = 0; k < s->shared[2]; ++k) {
                const @x@ *const from =
                    x + i * s->shared_step[0] + j * s->shared_step[1] + k * s->shared_step[2];
                for (l = 0; l < s->shared[3]; ++l) sum += (int32_t)from[l * s->shared_step[3]] - zero;
            }
        }
    }
    return sum;
}

/* Means over axes. */
static void @mean@(const @x@ *restrict x, @y@ *restrict y, const axes *s, int32_t zero, const @scale@ *q)
{
    int32_t i, j, k, l;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (k = 0; k < s->count[2]; ++k) {
                const @x@ *const from = x + i * s->step[0] + j * s->step[1] + k * s->step[2];
                for (l = 0; l < s->count[3]; ++l)
                    *y++ = (@y@)@code@(@mean@_sum(from + l * s->step[3], s, zero), q, 0);
            }
        }
    }
}

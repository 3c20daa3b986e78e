/* The sum of two values of codes. */
static void @add@(const @a@ *restrict a, const @b@ *restrict b, @y@ *restrict y, int32_t count,
    const @scale@ *restrict q)
{
    const @scale@ scale = *q;
    int32_t i;
    for (i = 0; i < count; ++i) y[i] = (@y@)@code@(a[i], b[i], &scale);
}

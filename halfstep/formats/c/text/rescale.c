/* Converts codes to another scale and zero point. */
static void @rescale@(const @x@ *x, @y@ *y, int32_t count, int32_t zero, const @scale@ *q)
{
    int32_t i;
    for (i = 0; i < count; ++i) y[i] = (@y@)@code@((int32_t)x[i] - zero, q, 0);
}

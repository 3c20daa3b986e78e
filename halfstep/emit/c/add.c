/* The sum of two values of codes: @what@ */
static void @add@(const @a@ *a, const @b@ *b, @y@ *y, int32_t count, const @scale@ *q)
{
    int32_t i;
    for (i = 0; i < count; ++i) {
@sum_lines@        y[i] = (@y@)(code < q->low ? q->low : code > q->high ? q->high : @narrow@code);
    }
}

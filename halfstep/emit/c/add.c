/* The sum of two values of codes: @what@ */
static void @add@(const @a@ *restrict a, const @b@ *restrict b, @y@ *restrict y, int32_t count,
    const @scale@ *restrict q)
{
    const @scale@ s = *q;
    int32_t i;
    for (i = 0; i < count; ++i) {
@sum_lines@        const @code_type@ raised = code < s.low ? s.low : code;
        y[i] = (@y@)(raised > s.high ? s.high : raised);
    }
}

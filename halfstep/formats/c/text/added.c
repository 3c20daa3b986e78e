/* The code of a sum of two: @what@ */
static int32_t @code@(int32_t a, int32_t b, const @scale@ *q)
{
@sum_lines@    const @sum@ low = q->low, high = q->high;
    const @sum@ raised = code < low ? low : code;
    return (int32_t)(raised > high ? high : raised);
}

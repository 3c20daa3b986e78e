/* Requantizes sums to codes in float32: @what@. Each operation rounds separately. */
typedef struct {
@fields@    int32_t zero_point, low, high;
} @scale@;

static int32_t @code@(@sum@ sum, const @scale@ *q, int32_t channel)
{
    const float whole = (float)sum;
@steps@    return code < q->low ? q->low : code > q->high ? q->high : code;
}

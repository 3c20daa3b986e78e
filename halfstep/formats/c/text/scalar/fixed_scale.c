/* Requantizes sums to codes: @what@, by channel. */
typedef struct {
@fields@    int32_t zero_point, low, high;
} @scale@;

static int32_t @code@(@sum@ sum, const @scale@ *q, int32_t channel)
{
@pick@    const int64_t low = q->low, high = q->high;
    const int64_t code = @shifted@ + q->zero_point;
    const int64_t raised = code < low ? low : code;
    return (int32_t)(raised > high ? high : raised);
}

/* From sums to codes: @what@, of each channel or of all. */
typedef struct {
@fields@    int32_t each; /* 1: of each channel; 0: the first of all */
    int32_t zero_point, low, high;
} @scale@;

static int32_t @code@(@sum@ sum, const @scale@ *q, int32_t channel)
{
    const int32_t i = channel * q->each;
@pick@    const int64_t code = @shift@((int64_t)sum * factor, bits) + q->zero_point;
    return code < q->low ? q->low : code > q->high ? q->high : (int32_t)code;
}

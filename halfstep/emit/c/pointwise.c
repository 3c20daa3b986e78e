/* @what@ */
static void @function@(const float *restrict from, float *restrict y, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; ++i) {
        const float @port@ = from[i];
        y[i] = @expression@;
    }
}

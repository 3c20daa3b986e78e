/* Slices of x, of `inner` elements each, at indices along an axis of `extent`. Negative indices count from the end, and
 * all indices are clamped to the axis. */
static void @gather@(const @x@ *x, const @i@ *indices, @x@ *restrict y, int32_t outer, int32_t count, int32_t extent,
    int32_t inner)
{
    int32_t i, k;
    for (i = 0; i < outer; ++i) {
        for (k = 0; k < count; ++k) {
            const int64_t index = indices[k] < 0 ? (int64_t)indices[k] + extent : indices[k];
            const int32_t row = index < 0 ? 0 : index >= extent ? extent - 1 : (int32_t)index;
            memcpy(y, x + ((size_t)i * (size_t)extent + (size_t)row) * (size_t)inner, (size_t)inner * sizeof *y);
            y += inner;
        }
    }
}

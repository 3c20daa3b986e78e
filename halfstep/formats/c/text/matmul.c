/* Products of matrices of codes. */
static void @matmul@(const @a@ *restrict a, const @b@ *restrict b, @y@ *restrict y, const product *s, int32_t a_zero,
    int32_t b_zero, const @scale@ *q)
{
    enum { lanes = 64 };
    const @scale@ scale = *q;
    int32_t i, j, row, first, c;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            const @a@ *const from_a = a + i * s->a_batch[0] + j * s->a_batch[1];
            const @b@ *const from_b = b + i * s->b_batch[0] + j * s->b_batch[1];
            for (row = 0; row < s->rows; ++row) {
                @y@ *const to = y + i * s->y_batch[0] + j * s->y_batch[1] + row * s->y_row;
                for (first = 0; first < s->columns; first += lanes) {
                    const int32_t width = s->columns - first < lanes ? s->columns - first : lanes;
                    @sum@ sums[lanes];
                    @multiply@(from_a + row * s->a_row, from_b + first * s->b_column, s, a_zero, b_zero, width,
                        sums);
                    for (c = 0; c < width; ++c) to[(first + c) * s->y_column] = (@y@)@code@(sums[c], &scale, 0);
                }
            }
        }
    }
}

/* Matrix products of floats, each element one sum in double. */
static void float_product(const float *a, const float *b, float *restrict y, const product *s)
{
    int32_t i, j, row, column, k;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (row = 0; row < s->rows; ++row) {
                const float *const from_a = a + i * s->a_batch[0] + j * s->a_batch[1] + row * s->a_row;
                float *const to = y + i * s->y_batch[0] + j * s->y_batch[1] + row * s->y_row;
                for (column = 0; column < s->columns; ++column) {
                    const float *const from_b = b + i * s->b_batch[0] + j * s->b_batch[1] + column * s->b_column;
                    double sum = 0.0;
                    for (k = 0; k < s->length; ++k) sum += (double)from_a[k * s->a_step] * (double)from_b[k * s->b_step];
                    to[column * s->y_column] = (float)sum;
                }
            }
        }
    }
}

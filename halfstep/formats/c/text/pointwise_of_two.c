/* @what@ */
static void @function@(const @a_type@ *left, const @b_type@ *right, @to@ *restrict y, const broadcast *s)
{
    int32_t i, j, k, l;
    for (i = 0; i < s->count[0]; ++i) {
        for (j = 0; j < s->count[1]; ++j) {
            for (k = 0; k < s->count[2]; ++k) {
                for (l = 0; l < s->count[3]; ++l) {
                    const @a_type@ @a@ = left[i * s->a_step[0] + j * s->a_step[1] + k * s->a_step[2] + l * s->a_step[3]];
                    const @b_type@ @b@ = right[i * s->b_step[0] + j * s->b_step[1] + k * s->b_step[2] + l * s->b_step[3]];
                    *y++ = @expression@;
                }
            }
        }
    }
}

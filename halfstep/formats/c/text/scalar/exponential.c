/* Exponential of the code that is `steps` below the largest code of its row, in units of 2^-30. */
static int64_t exponential(int32_t steps, const int32_t *fine, const int32_t *coarse)
{
    return ((int64_t)fine[steps % 256] * coarse[steps / 256] + 536870912) / 1073741824;
}

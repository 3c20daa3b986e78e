/* a / b as the nearest whole number, half a step towards plus infinity; 2 |a| + b is below 2^63, b above 0. */
static int64_t nearest_quotient(int64_t a, int64_t b)
{
    const int64_t raised = 2 * a + b, quotient = raised / (2 * b);
    return quotient - (raised % (2 * b) < 0);
}

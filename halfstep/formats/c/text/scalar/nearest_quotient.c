/* a / b rounded to the nearest integer, ties towards plus infinity. Requires 2 |a| + b < 2^63 and b > 0. */
static int64_t nearest_quotient(int64_t a, int64_t b)
{
    const int64_t raised = 2 * a + b, quotient = raised / (2 * b);
    return quotient - (raised % (2 * b) < 0);
}

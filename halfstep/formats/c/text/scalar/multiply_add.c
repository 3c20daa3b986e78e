/* a * b + c, rounded once, where a is an integer of at most 24 bits. */
static float multiply_add(float a, float b, float c)
{
    const double product = (double)a * (double)b; /* exact */
    const double addend = (double)c;
    double sum = product + addend;
    const double back = sum - product;
    const double lost = (product - (sum - back)) + (addend - back); /* rounding error of sum */
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((lost < 0.0 || lost > 0.0) && (bits & 1) == 0) { /* an odd last bit directs the next rounding */
        bits = (lost > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1;
        memcpy(&sum, &bits, sizeof bits);
    }
    return (float)sum;
}

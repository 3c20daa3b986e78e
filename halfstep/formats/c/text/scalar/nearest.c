/* Rounds to the nearest integer, ties to even, and clamps to 2^20, which is above all codes. */
static int32_t nearest(float v)
{
    const float most = 1048576.0f, units = 12582912.0f; /* 1.5 * 2^23: floats of this size are integers */
    const float near = v > most ? most : v < -most ? -most : v;
    const float raised = near + units;
    return (int32_t)(raised - units);
}
